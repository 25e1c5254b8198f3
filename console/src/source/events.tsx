import { Button, Text } from '@mantine/core';
import { type Source } from '../../../shared/api/operations';
import { useChange, useRead } from '../lib/api';
import { useMay } from '../lib/session';
import { count } from '../lib/labels';
import { Failure, number, Pill, Section, Table, Unread, When } from '../ui/ui';
import { text } from '../texts';

const words = text.source.events;

/** The track events of a source. The user can block each. */

const LOOK_AGAIN_MS = 10_000;

export function SourceEvents({
  source: { id, blockedEvents },
  etag,
}: {
  source: Source;
  etag: string;
}) {
  const read = useRead('GET /sources/{id}/events', { id }, { every: LOOK_AGAIN_MS });
  const operator = useMay('PATCH /sources/{id}');
  const change = useChange('PATCH /sources/{id}');
  const set = (names: string[]) =>
    change.mutate({ id, ifMatch: etag, body: { blockedEvents: names } });
  const events = read.data?.data.data;
  return (
    <Section title={words.trackEvents}>
      {!events && <Unread read={read} what={words.events} />}
      {events?.length === 0 && <Text size="sm">{words.noEvents}</Text>}
      {events && events.length > 0 && (
        <Table
          label={words.eventNames}
          head={[words.event, number(words.seen), words.last, words.state, number(words.change)]}
        >
          {events.map(({ name, count: seen, lastSeenAt, blocked }) => (
            <tr key={name}>
              <td className="break">{name}</td>
              <td className="number">{count(seen)}</td>
              <td>
                <When at={lastSeenAt} />
              </td>
              <td>
                <Pill kind={blocked ? 'off' : 'on'}>{blocked ? words.blocked : words.sentOn}</Pill>
              </td>
              <td className="act">
                {operator && (
                  <Button
                    size="compact-sm"
                    variant="default"
                    loading={change.isPending}
                    aria-label={blocked ? words.unblockEvent(name) : words.blockEvent(name)}
                    onClick={() =>
                      set(
                        blocked
                          ? blockedEvents.filter((each) => each !== name)
                          : [...blockedEvents, name],
                      )
                    }
                  >
                    {blocked ? words.unblock : words.block}
                  </Button>
                )}
              </td>
            </tr>
          ))}
        </Table>
      )}
      <Text size="sm" className="quiet below">
        {words.blockedHint}
      </Text>
      {change.error && <Failure error={change.error} what={words.changeTask} />}
    </Section>
  );
}
