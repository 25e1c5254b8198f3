import { Alert, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useParams } from 'react-router';
import { type Delivery } from '../../../shared/api/operations';
import { isUnderWay } from '../../../shared/model/reasons';
import { AttemptView, BodyView } from '../destination/attempt';
import { useChange, useNames, useRead } from '../lib/api';
import { useMay } from '../lib/session';
import { placeOf, reasonInWords } from '../lib/labels';
import { Confirmed, Empty, Failure, Page, Pill, Section, TextLink, Unread, When } from '../ui/ui';

/** The page polls an open delivery. Each request reads its body from Kafka. */
const FOLLOW_MS = 1_500;

/** One delivery: its state, its attempts, and a replay. */
export function DeliveryPage() {
  const { id = '' } = useParams();
  // The history learns of a replay later: until then the page would show the old state.
  const [awaited, setAwaited] = useState(0);
  const every = (last?: Delivery) => (isUnderWay(last?.status) || awaited > (last?.replay ?? 0) ? FOLLOW_MS : 10_000);
  const read = useRead('GET /deliveries/{id}', { id }, { every });
  const delivery = read.error ? undefined : read.data?.data;
  const pending = delivery !== undefined && awaited > delivery.replay;
  return (
    <Page title="Delivery" actions={delivery && !pending && <Replay delivery={delivery} onSent={setAwaited} />}>
      {delivery ? <Loaded delivery={delivery} /> : <Unread read={read} what="delivery" />}
    </Page>
  );
}

function Loaded({ delivery }: { delivery: Delivery }) {
  return (
    <Stack>
      <Facts delivery={delivery} />
      <Budget delivery={delivery} />
      <Section title="Body">
        <BodyView body={delivery.body} />
      </Section>
      <h2>Attempts</h2>
      {delivery.attempts.length === 0 && <Empty title="No attempts yet" />}
      {[...delivery.attempts].reverse().map((attempt) => (
        <AttemptView
          key={`${attempt.replay}-${attempt.n}-${attempt.at}`}
          attempt={attempt}
          heading={attempt.replay === 0 ? `Attempt ${attempt.n}` : `Attempt ${attempt.n} of replay ${attempt.replay}`}
        />
      ))}
    </Stack>
  );
}

function Facts({ delivery }: { delivery: Delivery }) {
  const [sources, destinations] = [useNames('sources'), useNames('destinations')];
  return (
    <section className="card" aria-label="Facts">
      <div className="row">
        <Pill kind={delivery.status} />
        <strong>{delivery.type}</strong>
        {delivery.test && <Pill kind="test" />}
        {delivery.status !== 'delivered' && <span>{reasonInWords(delivery.reason)}</span>}
      </div>
      <dl>
        <dt>Destination</dt>
        <dd>
          <TextLink to={placeOf(delivery.destination)}>
            {destinations.get(delivery.destination) ?? delivery.destination}
          </TextLink>
        </dd>
        <dt>Source</dt>
        <dd>{sources.get(delivery.source) ?? delivery.source}</dd>
        <dt>User</dt>
        <dd className="break">{delivery.userId ?? '–'}</dd>
        <dt>Message</dt>
        <dd className="break">{delivery.messageId}</dd>
        <dt>Delivery (webhook-id)</dt>
        <dd className="break">{delivery.id}</dd>
        <dt>Accepted</dt>
        <dd>
          <When at={delivery.acceptedAt} />
        </dd>
        {delivery.settledAt !== null && (
          <>
            <dt>Ended</dt>
            <dd>
              <When at={delivery.settledAt} />
            </dd>
          </>
        )}
      </dl>
    </section>
  );
}

/** The remaining attempts and time of an open delivery. */
function Budget({ delivery: { budget, status } }: { delivery: Delivery }) {
  if (!isUnderWay(status)) return null;
  return (
    <Alert color="blue" title="In progress">
      <Text size="sm">
        {budget.attemptsMade} {budget.attemptsMade === 1 ? 'attempt was' : 'attempts were'} made. The next follows{' '}
        <When at={budget.nextAttemptAt} />, and it ends <When at={budget.expiresAt} />.
      </Text>
      {budget.waitsFor !== null && <Text size="sm">{reasonInWords(budget.waitsFor)}.</Text>}
    </Alert>
  );
}

interface ReplayProps {
  delivery: Delivery;
  /** receives the number of this replay */
  onSent: (replay: number) => void;
}

function Replay({ delivery: { id, status }, onSent }: ReplayProps) {
  const operator = useMay('POST /deliveries/{id}/replay');
  const replay = useChange('POST /deliveries/{id}/replay', { onDone: ({ data }) => onSent(data.replay) });
  if (!operator || isUnderWay(status)) return null;
  return (
    <div>
      <Confirmed
        label="Replay"
        question="Replay this delivery?"
        busy={replay.isPending}
        onConfirm={() => replay.mutate({ id })}
      >
        <Text>
          Waypost sends it to the current URLs of its destination, with the same id
          {status === 'delivered' ? '. It was already delivered, so the receiver gets it again' : ''}.
        </Text>
      </Confirmed>
      {replay.error && <Failure error={replay.error} what="the replay" />}
    </div>
  );
}
