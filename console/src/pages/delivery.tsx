import { Alert, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useParams } from 'react-router';
import { type Delivery } from '../../../shared/api/operations';
import { isUnderWay } from '../../../shared/model/reasons';
import { attemptName, Compare } from '../delivery/compare';
import { RecallDelivery } from '../delivery/recall';
import { EditAndResend } from '../delivery/resend';
import { budgetInWords, momentsOf } from '../delivery/timeline';
import { AttemptView, BodyView } from '../destination/attempt';
import { NotCalled } from '../delivery/not-called';
import { Replay } from '../delivery/replay';
import { useNames, useRead } from '../lib/api';
import { placeOf, reasonInWords } from '../lib/labels';
import { Empty, Page, Pill, Section, TextLink, Unread, When } from '../ui/ui';
import { text } from '../texts';

const words = text.watch.delivery;

/** The page polls an open delivery. Each request reads its body from Kafka. */
const FOLLOW_MS = 1_500;

/** One delivery: its state, its attempts, and a replay. */
export function DeliveryPage() {
  const { id = '' } = useParams();
  // The history learns of a replay later: until then the page would show the old state.
  const [awaited, setAwaited] = useState(0);
  const every = (last?: Delivery) =>
    isUnderWay(last?.status) || awaited > (last?.replay ?? 0) ? FOLLOW_MS : 10_000;
  const read = useRead('GET /deliveries/{id}', { id }, { every });
  const delivery = read.error ? undefined : read.data?.data;
  const pending = delivery !== undefined && awaited > delivery.replay;
  return (
    <Page
      title={words.delivery}
      actions={
        delivery && (
          <>
            <EditAndResend delivery={delivery} />
            {!pending && <RecallDelivery delivery={delivery} />}
            {!pending && <Replay delivery={delivery} onSent={setAwaited} />}
          </>
        )
      }
    >
      {delivery ? <Loaded delivery={delivery} /> : <Unread read={read} what={words.theDelivery} />}
    </Page>
  );
}

function Loaded({ delivery }: { delivery: Delivery }) {
  return (
    <Stack>
      <div className="beside even">
        <Facts delivery={delivery} />
        <Timeline delivery={delivery} />
      </div>
      <Budget delivery={delivery} />
      <Section title={words.body}>
        <BodyView body={delivery.body} />
      </Section>
      <h2>{words.attempts}</h2>
      {delivery.attempts.length === 0 && <Empty title={words.noAttemptsYet} />}
      {[...delivery.attempts].reverse().map((attempt) => (
        <AttemptView
          key={`${attempt.replay}-${attempt.n}-${attempt.at}`}
          attempt={attempt}
          heading={attemptName(attempt)}
          body={delivery.body}
          isTest={delivery.test}
          notCalled={
            attempt.notCalled && (
              <NotCalled destination={delivery.destination} ids={attempt.notCalled} />
            )
          }
        />
      ))}
      {delivery.attempts.length > 1 && <Compare attempts={delivery.attempts} />}
    </Stack>
  );
}

function Facts({ delivery }: { delivery: Delivery }) {
  const [sources, destinations] = [useNames('sources'), useNames('destinations')];
  return (
    <section className="card" aria-label={words.facts}>
      <div className="row">
        <Pill kind={delivery.status} />
        <strong>{delivery.type}</strong>
        {delivery.test && <Pill kind="test" />}
        {delivery.status !== 'delivered' && <span>{reasonInWords(delivery.reason)}</span>}
      </div>
      <dl>
        <dt>{words.destination}</dt>
        <dd>
          <TextLink to={placeOf(delivery.destination)}>
            {destinations.get(delivery.destination) ?? delivery.destination}
          </TextLink>
        </dd>
        <dt>{words.source}</dt>
        <dd>{sources.get(delivery.source) ?? delivery.source}</dd>
        <dt>{words.user}</dt>
        <dd className="break">
          {delivery.userId === null ? (
            '–'
          ) : (
            <TextLink
              to={`/deliveries?${new URLSearchParams({ user: delivery.userId }).toString()}`}
            >
              {delivery.userId}
            </TextLink>
          )}
        </dd>
        <dt>{words.message}</dt>
        <dd className="break">
          <TextLink
            to={`/deliveries?${new URLSearchParams({ message: delivery.messageId }).toString()}`}
          >
            {delivery.messageId}
          </TextLink>
        </dd>
        <dt>{words.webhookId}</dt>
        <dd className="break">{delivery.id}</dd>
        <dt>{words.accepted}</dt>
        <dd>
          <When at={delivery.acceptedAt} exact />
        </dd>
        {delivery.settledAt !== null && (
          <>
            <dt>{words.ended}</dt>
            <dd>
              <When at={delivery.settledAt} exact />
            </dd>
          </>
        )}
      </dl>
    </section>
  );
}

/** The life of the delivery, from the oldest moment to the next one. */
function Timeline({ delivery }: { delivery: Delivery }) {
  return (
    <section className="card" aria-label={words.timeline}>
      <h2>{words.timeline}</h2>
      <ol className="timeline">
        {momentsOf(delivery, Date.now()).map(({ at, kind, text }, i) => (
          // Moments have no id, and new ones come at the end.
          <li key={i} className={`moment-${kind}`}>
            <span>{text}</span>
            {at !== null && (
              <span className="quiet">
                <When at={at} exact />
              </span>
            )}
          </li>
        ))}
      </ol>
    </section>
  );
}

/** The remaining attempts and time of an open delivery. */
function Budget({ delivery }: { delivery: Delivery }) {
  const { reason, status } = delivery;
  if (!isUnderWay(status)) return null;
  return (
    <Alert color="blue" title={words.inProgress}>
      <Text size="sm">{budgetInWords(delivery, Date.now())}</Text>
      {reason !== null && <Text size="sm">{reasonInWords(reason)}.</Text>}
    </Alert>
  );
}
