import { type LOOKUP_OUTCOMES } from '../../../shared/api/lookup';
import { type Query } from '../../../shared/api/operations';
import { filtersOf } from '../../../shared/cel/compile';
import { type ConfigView } from '../../../shared/config/types';
import { type Kafka } from '../../../shared/kafka/port';
import { ALERTS_ID, type Destination, type Source } from '../../../shared/model/config';
import { eventNameOf, type Message } from '../../../shared/model/message';
import { type DeliveryStatus, isDelivered } from '../../../shared/model/reasons';
import { outcomeInThePast, type RouteOutcome } from '../../../shared/model/route';
import { isoTime } from '../../../shared/model/time';
import { AppError } from '../../../shared/runtime/errors';
import { type ExpressionWork, type RequestWork } from '../expressions/work';
import { type DeliveryRow } from '../history/delivery-row';
import { type History } from '../history/history';
import { standing } from '../history/filter';
import { listDeliveries } from '../history/queries';
import { type HandlersOf } from '../http/handlers';
import { decodeAnyCursor, encodeCursor } from '../http/paging';
import { Slots } from '../http/slots';
import { Problem } from '../http/problem';
import { cursorOf, findMessages, type FoundMessage } from './find-messages';

export interface LookupDeps {
  kafka: Pick<Kafka, 'read' | 'ranges'>;
  config: Pick<ConfigView, 'source' | 'destination' | 'destinationsOf'>;
  history: Pick<History, 'ask' | 'forgotten' | 'learnDeletions'>;
  /** The lookups of one token search one after the other. */
  lookups: Pick<ExpressionWork, 'inTurn'>;
  now: () => Date;
}

/** Of all tokens. A search reads `messages` for seconds, which other requests must not feel. */
const SEARCHES = {
  atOnce: 2,
  refusal: 'Other searches for events run, 2 at a time. Send the request again in 5 s',
};
/** Of a request: about two searches of others. */
const WAITS_MS = 15_000;

export function lookupHandlers(deps: LookupDeps): HandlersOf<'lookup'> {
  const searches = new Slots(SEARCHES);
  return {
    'GET /lookup': ({ query, by }) =>
      // Only one request of a token waits for a slot, so tokens search in turn.
      deps.lookups.inTurn(by.id, (work) =>
        searches.use(() => lookUp(deps, query, work), AbortSignal.timeout(WAITS_MS)),
      ),
  };
}

/** @throws Problem `unavailable`, `invalid_fields` */
async function lookUp(
  deps: LookupDeps,
  { message, user, limit, after }: Query<'GET /lookup'>,
  work: RequestWork,
) {
  const { kafka, history, now } = deps;
  await history.learnDeletions();
  const cursor = decodeAnyCursor(after);
  const search = await findMessages(
    {
      kafka,
      isForgotten: (each) => isForgotten(each, history.forgotten),
      nowMs: now().getTime(),
      steadyMs: () => performance.now(),
    },
    { message, user },
    { limit, after: cursor && { appendedAt: cursor.at, id: cursor.id } },
  ).catch(explained);
  const data = [];
  for (const each of search.found) {
    data.push(await becameOf(each, deps, work));
    // The next page goes on where the filters of this one took their time.
    if (work.isSpent) break;
  }
  const last = search.found[data.length - 1];
  const isCut = last !== undefined && data.length < search.found.length;
  const next = isCut ? cursorOf(last) : search.next;
  return {
    data,
    next: next ? encodeCursor({ at: next.appendedAt, id: next.id }) : null,
    searched: {
      from: isoTime(isCut ? last.appendedAt : search.from),
      to: isoTime(search.to),
      complete: search.complete && !isCut,
    },
  };
}

function isForgotten(
  { head, message }: FoundMessage,
  forgotten: LookupDeps['history']['forgotten'],
): boolean {
  const ids = () => [message.userId, message.anonymousId].filter((id) => id !== undefined);
  return forgotten.hides(ids, head.sourceId, head.acceptedAt);
}

/** @throws Problem `unavailable` instead of an error that only the log would explain */
function explained(error: unknown): never {
  if (error instanceof AppError && error.code === 'newer_format') {
    throw new Problem('unavailable', error.message);
  }
  throw error;
}

type Outcome = (typeof LOOKUP_OUTCOMES)[number];

interface Became {
  id: string;
  delivery: { id: string; status: DeliveryStatus } | null;
  outcome: Outcome;
  reason: string | null;
}

/** A message has a delivery for each destination, and few have more destinations. */
const MOST_DESTINATIONS = 1_000;

/** The filters of the destinations before it took all of the time. */
const TOO_MUCH_WORK = 'too_much_work';

async function becameOf(found: FoundMessage, { history, config }: LookupDeps, work: RequestWork) {
  const { messageId, sourceId, acceptedAt } = found.head;
  const filter = { message: messageId, source: sourceId };
  const { rows } = await history.ask((database) =>
    listDeliveries(database, filter, { limit: MOST_DESTINATIONS }),
  );
  // A message that was sent twice has one delivery for each destination.
  const deliveries = rows.filter(({ test }) => !test);
  const known = new Set(deliveries.map(({ destination }) => destination));
  const others = config
    .destinationsOf(sourceId)
    .map(({ data }) => data)
    .filter(({ id }) => id !== ALERTS_ID && !known.has(id));
  const source = config.source(sourceId)?.data;
  const byTheRules: Became[] = [];
  const ask = filtersOf(found.message);
  for (const destination of others) {
    const { id } = destination;
    byTheRules.push(
      work.isSpent && destination.filter !== undefined
        ? { id, delivery: null, outcome: 'unknown', reason: TOO_MUCH_WORK }
        : work.measure(() => ruleOf(found.message, source, destination, ask)),
    );
    await work.pause();
  }
  return {
    message: messageId,
    acceptedAt: isoTime(acceptedAt),
    source: sourceId,
    type: found.message.type,
    event: eventNameOf(found.message) ?? null,
    destinations: [...deliveries.map((row) => fromHistory(row, config)), ...byTheRules],
  };
}

const OUTCOME_OF_STATUS = {
  waiting: 'waiting',
  retrying: 'waiting',
  held: 'waiting',
  delivered: 'delivered',
  partly_delivered: 'delivered',
  dead: 'dead',
  cancelled: 'dropped',
} as const satisfies Record<DeliveryStatus, Outcome>;

function fromHistory(row: DeliveryRow, config: Pick<ConfigView, 'destination'>): Became {
  const { id, destination } = row;
  const { status, reason } = standing(row, config.destination(destination)?.data.paused === true);
  return {
    id: destination,
    delivery: { id, status },
    outcome: OUTCOME_OF_STATUS[status],
    reason: isDelivered(status) ? null : reason,
  };
}

/** Says by the router's rules of today why the history has no delivery. */
function ruleOf(
  message: Message,
  source: Source | undefined,
  destination: Destination,
  ask: ReturnType<typeof filtersOf>,
): Became {
  const of = { id: destination.id, delivery: null };
  if (!source) return { ...of, outcome: 'dropped', reason: 'source_deleted' };
  const { outcome: rule } = outcomeInThePast(message, source, destination, ask);
  return { ...of, outcome: OUTCOME_OF_RULE[rule], reason: rule === 'routed' ? null : rule };
}

const OUTCOME_OF_RULE = {
  routed: 'unknown',
  source_off: 'dropped',
  blocked: 'dropped',
  excluded: 'dropped',
  off: 'not_matched',
  not_connected: 'not_matched',
  type: 'not_matched',
  filtered: 'not_matched',
  filter_failed: 'not_matched',
  created_later: 'not_matched',
} as const satisfies Record<RouteOutcome['outcome'], Outcome>;
