import { type LOOKUP_OUTCOMES } from '../../../shared/api/lookup';
import { type Query } from '../../../shared/api/operations';
import { filtersOf } from '../../../shared/cel/compile';
import { type ConfigView } from '../../../shared/config/types';
import { type Kafka } from '../../../shared/kafka/port';
import { ALERTS_ID, type Destination, type Source } from '../../../shared/model/config';
import { type Message } from '../../../shared/model/message';
import { type DeliveryStatus, isDelivered } from '../../../shared/model/reasons';
import { type RouteOutcome, routeOutcomeOf } from '../../../shared/model/route';
import { AppError } from '../../../shared/runtime/errors';
import { type ExpressionWork, type RequestWork } from '../expressions/work';
import { type DeliveryRow } from '../history/delivery-row';
import { type History } from '../history/history';
import { listDeliveries } from '../history/queries';
import { type HandlersOf } from '../http/handlers';
import { decodeAnyCursor, encodeCursor } from '../http/paging';
import { Problem } from '../http/problem';
import { findMessages, type Found } from './find-messages';

/** What the search for messages needs. */
export interface LookupDeps {
  kafka: Pick<Kafka, 'read' | 'ranges'>;
  config: Pick<ConfigView, 'source' | 'destinationsOf'>;
  history: Pick<History, 'ask' | 'forgotten' | 'learnDeletions'>;
  /** Requests of one token search one after the other. */
  work: Pick<ExpressionWork, 'inTurn'>;
  now: () => Date;
}

/** /api/v1/lookup */
export function lookupHandlers(deps: LookupDeps): HandlersOf<'lookup'> {
  return {
    'GET /lookup': ({ query, by }) => deps.work.inTurn(by.id, (work) => lookUp(deps, query, work)),
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
  const { found, from, to, complete, next } = await findMessages(
    {
      kafka,
      isForgotten: (each) => isForgotten(each, history.forgotten),
      nowMs: now().getTime(),
      steadyMs: () => performance.now(),
    },
    { message, user },
    { limit, after: cursor && { acceptedAt: cursor.at, id: cursor.id } },
  ).catch(explained);
  const data = [];
  for (const each of found) {
    data.push(await becameOf(each, deps, work));
    await work.pause();
  }
  return {
    data,
    next: next ? encodeCursor({ at: next.acceptedAt, id: next.id }) : null,
    searched: {
      from: new Date(from).toISOString(),
      to: new Date(to).toISOString(),
      complete,
    },
  };
}

function isForgotten(
  { head, message }: Found,
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
  outcome: Outcome;
  reason: string | null;
}

/** A message has a delivery for each destination, and few have more destinations. */
const MOST_DESTINATIONS = 1_000;

async function becameOf(found: Found, { history, config }: LookupDeps, work: RequestWork) {
  const { messageId, sourceId, acceptedAt } = found.head;
  const filter = { message: messageId, source: sourceId };
  const rows = await history.ask((database) =>
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
  return {
    message: messageId,
    acceptedAt: new Date(acceptedAt).toISOString(),
    source: sourceId,
    destinations: [
      ...deliveries.map(fromHistory),
      ...work.run(() => byTheRules(found.message, source, others)),
    ],
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

function fromHistory({ destination, status, reason }: DeliveryRow): Became {
  return {
    id: destination,
    outcome: OUTCOME_OF_STATUS[status],
    reason: isDelivered(status) ? null : reason,
  };
}

/** Says by the router's rules of today why the history has no delivery. */
function byTheRules(
  message: Message,
  source: Source | undefined,
  destinations: readonly Destination[],
): Became[] {
  const ask = filtersOf(message);
  return destinations.map((destination): Became => {
    const { id } = destination;
    if (!source) return { id, outcome: 'dropped', reason: 'source_deleted' };
    const { outcome: rule } = routeOutcomeOf(message, source, destination, ask);
    return { id, outcome: OUTCOME_OF_RULE[rule], reason: rule === 'routed' ? null : rule };
  });
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
} as const satisfies Record<RouteOutcome['outcome'], Outcome>;
