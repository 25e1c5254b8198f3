import { type FetchWait, IdleWait } from '../idle-wait';
import { FetchSession, type FetchTopic } from '../protocol/fetch-session';

/**
 * Makes the fetches of kafkajs's consumers cheaper (kafkajs 2.2.4): they use fetch sessions, and
 * wait longer while nothing happens. A consumer that is no member of its group does not fetch.
 */

interface Protocol {
  request: object;
  response: object;
}
/** kafkajs's lookup of a request by its version. */
interface Definition {
  protocol(by: { version: number }): (input: object) => Protocol;
}
export interface FetchingBroker {
  lookupRequest(apiKey: number, definition: Definition): (input: object) => Protocol;
  disconnect(): Promise<void>;
  connectionPool: { send(request: Protocol): Promise<unknown> };
}
export interface ConsumerFetch {
  topics: FetchTopic[];
}

interface Batch {
  rawMessages: readonly unknown[];
}
interface ConsumerGroup extends FetchWait {
  memberId: string | null;
  subscriptionState: { paused(): readonly unknown[] };
  fetch(nodeId: string): Promise<Batch[]>;
}

const FETCH_KEY = 1;

/* eslint-disable @typescript-eslint/no-require-imports -- these parts of kafkajs have no types and no other name */
const fetch = require('kafkajs/src/protocol/requests/fetch') as Definition;
const groups = require('kafkajs/src/consumer/consumerGroup') as { prototype: ConsumerGroup };
/* eslint-enable @typescript-eslint/no-require-imports */

/** kafkajs has one Broker for each consumer and node, with one fetch at a time. */
const sessions = new WeakMap<FetchingBroker, FetchSession>();

/**
 * Fetches in the session of this broker.
 * @param plainly fetches without a session, if the broker refuses to keep one
 * @throws an error of kafkajs
 */
export async function fetchInSession(
  broker: FetchingBroker,
  fetched: ConsumerFetch,
  plainly: () => Promise<unknown>,
): Promise<unknown> {
  let session = sessions.get(broker);
  if (!session) sessions.set(broker, (session = new FetchSession()));
  if (session.isRefused) return plainly();
  for (;;) {
    const response = await send(broker, { ...fetched, ...session.next(fetched.topics) }).catch(
      (error: unknown) => {
        session.reset();
        throw error;
      },
    );
    if (session.answered(response)) return response;
  }
}

async function send(
  broker: FetchingBroker,
  input: object,
): Promise<{ errorCode?: number; sessionId?: number }> {
  try {
    return (await broker.connectionPool.send(
      broker.lookupRequest(FETCH_KEY, fetch)(input),
    )) as object;
  } catch (error) {
    // As in kafkajs: otherwise the broker would count as connected.
    if ((error as Error).name === 'KafkaJSConnectionClosedError') await broker.disconnect();
    throw error;
  }
}

/**
 * Returns an error that makes a consumer of kafkajs join its group again, if one of its fetches
 * throws it.
 */
export function joinAgain(why: string): Error {
  return Object.assign(new Error(why), { type: 'REBALANCE_IN_PROGRESS', retriable: true });
}

const waits = new WeakMap<ConsumerGroup, IdleWait>();

/**
 * Lets the fetches of an idle consumer wait longer, and lets no consumer fetch that has lost its
 * membership. Call it once.
 *
 * kafkajs forgets the member id when the group does not know the consumer any more, and joins
 * again. If the coordinator cannot answer just then, because it is loading after a pause of the
 * broker, kafkajs reads on as before, sends no heartbeats, because it has no id, and so never
 * learns that other members own its partitions: they got most records twice, without end.
 */
export function patchConsumerFetches({ prototype } = groups): void {
  // eslint-disable-next-line @typescript-eslint/unbound-method -- called with its own `this` below
  const { fetch: send } = prototype;
  prototype.fetch = async function (nodeId) {
    if (this.memberId === null) throw joinAgain('the consumer is no member of its group');
    const { maxWaitTime, minBytes } = this;
    let wait = waits.get(this);
    if (!wait) waits.set(this, (wait = new IdleWait({ maxWaitTime, minBytes })));
    // A partition that is resumed takes part in the next fetch.
    if (this.subscriptionState.paused().length > 0) wait.markActive();
    Object.assign(this, wait.nextFetchWait());
    const batches = await send.call(this, nodeId);
    if (batches.some(({ rawMessages }) => rawMessages.length > 0)) wait.markActive();
    return batches;
  };
}
