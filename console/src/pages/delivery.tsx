import { Stack, Text } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { useParams } from 'react-router';
import { type Delivery } from '../../../shared/api/operations';
import { isUnderWay } from '../../../shared/model/reasons';
import { tallyInWords } from '../deliveries/tally';
import { Compare } from '../delivery/compare';
import { CancelDelivery, SendNow, useRecall } from '../delivery/recall';
import { Replay } from '../delivery/replay';
import { EditAndResend } from '../delivery/resend';
import { Story } from '../delivery/story';
import { sentenceOf, titleOf } from '../delivery/timeline';
import { useNames, useRead } from '../lib/api';
import { answerInShort, placeOf } from '../lib/labels';
import { Page, Pill, Section, TextLink, Unread, When } from '../ui/ui';
import { text } from '../texts';

const words = text.watch.delivery;

/** The page polls an open delivery. Each request reads its body from Kafka. */
const FOLLOW_MS = 1_500;
const LOOK_AGAIN_MS = 10_000;

const WITHIN = { name: words.deliveries, to: '/deliveries' };

/** One delivery as a story: what became of it, its attempts, and what was sent and answered. */
export function DeliveryPage() {
  const { id = '' } = useParams();
  // The history learns of a replay later: until then the page would show the old state.
  const [awaited, setAwaited] = useState(0);
  const every = (last?: Delivery) =>
    isUnderWay(last?.status) || awaited > (last?.replay ?? 0) ? FOLLOW_MS : LOOK_AGAIN_MS;
  const read = useRead('GET /deliveries/{id}', { id }, { every });
  const delivery = read.error ? undefined : read.data?.data;
  const pending = delivery !== undefined && awaited > delivery.replay;
  const { mayRecall, onRecalled } = useRecall(delivery);
  return (
    <Page
      title={delivery ? titleOf(delivery) : words.delivery}
      within={WITHIN}
      actions={
        delivery && (
          <>
            {!pending && <Replay delivery={delivery} onSent={setAwaited} />}
            {!pending && mayRecall && <SendNow id={id} onDone={onRecalled} />}
            <EditAndResend delivery={delivery} />
            {!pending && mayRecall && <CancelDelivery id={id} onDone={onRecalled} />}
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
      <Facts delivery={delivery} />
      <Story delivery={delivery} />
      {delivery.attempts.length > 1 && <Compare attempts={delivery.attempts} />}
      <Elsewhere delivery={delivery} />
    </Stack>
  );
}

function Facts({ delivery }: { delivery: Delivery }) {
  const { destination, destinationName, source, userId, messageId } = delivery;
  const sources = useNames('sources', [source]);
  return (
    <section className="card" aria-label={words.facts}>
      <p className="sentence">
        <Pill kind={delivery.status} />
        {delivery.test && <Pill kind="test" />}
        <span>{sentenceOf(delivery, Date.now())}</span>
      </p>
      <dl className="facts">
        <Fact name={words.destination}>
          {destinationName === null ? (
            <span title={destination}>{text.watch.deliveries.deleted}</span>
          ) : (
            <TextLink to={placeOf(destination)}>{destinationName}</TextLink>
          )}
        </Fact>
        <Fact name={words.source}>
          <TextLink to={`/sources/${source}`}>{sources.get(source) ?? source}</TextLink>
        </Fact>
        <Fact name={words.type}>{delivery.type}</Fact>
        <Fact name={words.user}>
          {userId === null ? (
            '–'
          ) : (
            <TextLink to={`/deliveries?${new URLSearchParams({ user: userId }).toString()}`}>
              {userId}
            </TextLink>
          )}
        </Fact>
        <Fact name={words.accepted}>
          <When at={delivery.acceptedAt} exact />
        </Fact>
        <Fact name={words.webhookId} className="id">
          {delivery.id}
        </Fact>
        <Fact name={words.message} className="id long">
          <TextLink to={`/deliveries?${new URLSearchParams({ message: messageId }).toString()}`}>
            {messageId}
          </TextLink>
        </Fact>
      </dl>
    </section>
  );
}

interface FactProps {
  name: string;
  /** `id`: in small letters; `long`: it has the room of two facts */
  className?: string;
  children: ReactNode;
}

function Fact({ name, className = '', children }: FactProps) {
  return (
    <div className={className}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** What became of the same event at other destinations. */
function Elsewhere({ delivery: { id, messageId, source } }: { delivery: Delivery }) {
  const query = { message: messageId, source, limit: 50 };
  const read = useRead('GET /deliveries', { query }, { every: LOOK_AGAIN_MS });
  const found = read.data?.data;
  const others = found?.data.filter((each) => each.id !== id) ?? [];
  return (
    <Section title={words.elsewhere}>
      {found && others.length === 0 && <Text size="sm">{words.nowhereElse}</Text>}
      {others.length > 0 && found?.next === null && <Text size="sm">{tallyInWords(others)}</Text>}
      <ul className="plain elsewhere">
        {others.map((each) => (
          <li key={each.id}>
            <Pill kind={each.status} />
            <TextLink to={`/deliveries/${each.id}`}>
              {each.destinationName ?? text.watch.deliveries.deleted}
            </TextLink>
            <span className="quiet">
              {answerInShort(each.lastStatusCode, each.lastError?.code)}
            </span>
          </li>
        ))}
      </ul>
      <Text size="sm" className="below">
        <TextLink to={`/lookup?${new URLSearchParams({ message: messageId }).toString()}`}>
          {text.watch.deliveries.whereNot}
        </TextLink>
      </Text>
    </Section>
  );
}
