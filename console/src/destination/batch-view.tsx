import { Text } from '@mantine/core';
import { useState } from 'react';
import { type Delivery } from '../../../shared/api/operations';
import { membersOf } from '../delivery/batch-members';
import { useRead } from '../lib/api';
import { Pill, TextLink, Unread } from '../ui/ui';
import { text } from '../texts';

const words = text.destination.batchView;

/** The most events of a batch. */
const MAX_MEMBERS = 100;

type Batch = NonNullable<Delivery['attempts'][number]['urls'][number]['batch']>;

/** The batch that a request sent a delivery in, and its other members. */
export function BatchView({ batch }: { batch: Batch }) {
  const [open, setOpen] = useState(false);
  return (
    <details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="break">{words.summary(batch.index + 1, batch.size, batch.id)}</summary>
      {open && <Members batch={batch} />}
    </details>
  );
}

function Members({ batch: { id, size, index } }: { batch: Batch }) {
  const read = useRead('GET /deliveries', { query: { batch: id, limit: MAX_MEMBERS } });
  if (!read.data || read.error) return <Unread read={read} what={words.theEvents} />;
  const members = membersOf(id, read.data.data.data);
  return (
    <>
      <ol className="plain" aria-label={words.eventsOf(id)}>
        {members.map((member) => (
          <li key={member.delivery} className="row">
            <span>{member.index + 1}.</span>
            {member.index === index ? (
              <strong>{words.thisDelivery(member.title)}</strong>
            ) : (
              <TextLink
                to={`/deliveries/${member.delivery}`}
                aria-label={words.eventNamed(member.index + 1, member.title)}
              >
                {member.title}
              </TextLink>
            )}
            <Pill kind={member.outcome} />
            {member.status !== undefined && <span>{words.http(member.status)}</span>}
          </li>
        ))}
      </ol>
      {members.length < size && <Text size="sm">{words.known(members.length, size)}</Text>}
      <TextLink to={`/deliveries?batch=${encodeURIComponent(id)}`}>{words.showInList}</TextLink>
    </>
  );
}
