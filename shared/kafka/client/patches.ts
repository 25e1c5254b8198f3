import { type Batch, Kafka as KafkaJs, type KafkaConfig } from 'kafkajs';
import { ByteReader } from '../protocol/bytes';
import { type FetchedRecord, readBatches } from '../protocol/batch';
import { CompactingMap } from '../../collections/compacting-map';
import {
  type ConsumerFetch,
  fetchInSession,
  type FetchingBroker,
  patchConsumerFetches,
} from './consumer-fetches';
import { fetchInTurn } from './fetch-throttle';
import { patchHalfConnections } from './half-connected';
import { patchReplicaChoice } from './nearest-replica';

/**
 * Changes kafkajs where it costs too much or waits for too long. The version of kafkajs is pinned,
 * and tests compare both codecs.
 *
 * The codec of fetches creates an object, three BigInts and a buffer for each header. The hook sits
 * in kafkajs's lookup of requests, and changes nothing else
 * (docs/design/decisions/0009-record-codec.md). `request-sender.ts` makes the produce requests.
 *
 * The request queue of a connection has a timer that never stops: after each answer it schedules a
 * check of waiting requests at a time in the past, and so once a millisecond for as long as it
 * exists (kafkajs issue 1704). An idle process spent 4 % of a core on it, and Node 24 and later
 * warn of the negative delay. The check is needed only while requests wait; a later request
 * schedules one itself.
 *
 * Each queue also looks ten times a second for requests that take longer than ten seconds, which
 * woke an idle process more often than its work. Now it looks once a second.
 *
 * The queue has a Map of requests in flight, which keeps past requests with their records and
 * answers until a full garbage collection (compacting-map.ts).
 *
 * A broker whose first answer is late does not count as connected (half-connected.ts).
 *
 * A consumer that reads from the nearest replica returns to the leader where it must
 * (nearest-replica.ts).
 *
 * Consumers fetch in sessions, wait longer while nothing happens, and do not fetch without a
 * membership (consumer-fetches.ts).
 */

interface Protocol<In> {
  request: { encode(): Promise<unknown> };
  response: { decode(raw: Buffer): Promise<unknown>; parse(data: unknown): Promise<unknown> };
  input?: In;
}
interface Lookup<In> {
  protocol(by: { version: number }): (input: In) => Protocol<In>;
}
interface Codec {
  decompress(buffer: Buffer): Promise<Buffer>;
}

interface Broker extends FetchingBroker {
  /** @param request names its rack if it comes from a consumer */
  fetch(request: ConsumerFetch & { maxWaitTime: number; rackId?: string }): Promise<unknown>;
}

interface RequestQueue {
  inflight: Map<number, InFlight> | CompactingMap<number, InFlight>;
  pending: readonly unknown[];
  push(request: object): void;
  scheduleCheckPendingRequests(): void;
  enforceRequestTimeout: boolean;
  requestTimeoutIntervalId: NodeJS.Timeout | null;
  scheduleRequestTimeoutCheck(): void;
  isConnected(): boolean;
  destroy(): void;
}

interface InFlight {
  /** by `performance.now()`: the time that kafkajs notes is of a clock that may be set */
  startedAt?: number;
  /** ms */
  requestTimeout: number;
  timeoutRequest(): void;
}

const TIMEOUT_CHECK_MS = 1_000;

/** Notes when each request began. */
class StartedRequests extends CompactingMap<number, InFlight> {
  override set(id: number, request: InFlight): this {
    request.startedAt = performance.now();
    return super.set(id, request);
  }
}

/** The only version that kafkajs speaks with brokers of Kafka 2.3 and later. */
const FETCH = 11;

/* eslint-disable @typescript-eslint/no-require-imports -- these parts of kafkajs have no types and no other name */
const fetch = require('kafkajs/src/protocol/requests/fetch') as Lookup<unknown>;
const brokers = require('kafkajs/src/broker') as { prototype: Broker };
const compression = require('kafkajs/src/protocol/message/compression') as {
  lookupCodecByAttributes(attributes: number): Codec | null;
};
const queues = require('kafkajs/src/network/requestQueue') as { prototype: RequestQueue };
/* eslint-enable @typescript-eslint/no-require-imports */

/** Returns the records of a batch, as this codec has decoded them. */
export function fetchedRecords(batch: Batch): FetchedRecord[] {
  return batch.messages as unknown as FetchedRecord[];
}

/**
 * Marks kafkajs as patched. Services that share a process share kafkajs, but each has a copy of
 * this module.
 */
const PATCHED = Symbol.for('waypost.patched');

/** Returns a client of the patched kafkajs: every process makes its clients here. */
export function kafkajsClient(config: KafkaConfig): KafkaJs {
  patchKafkajs();
  return new KafkaJs(config);
}

/** Patches kafkajs once for the process. */
export function patchKafkajs(): void {
  const marked = fetch as Lookup<unknown> & { [PATCHED]?: true };
  if (marked[PATCHED]) return;
  marked[PATCHED] = true;
  replaceFetches();
  patchRequestQueues();
  patchHalfConnections();
  patchReplicaChoice();
  patchConsumerFetches();
}

/** Installs the codec, and the throttle of fetches. */
function replaceFetches(): void {
  const fetchOf = fetch.protocol.bind(fetch);
  fetch.protocol = ({ version }) => {
    const original = fetchOf({ version });
    if (version !== FETCH) return original;
    return (input) => {
      const made = original(input);
      return {
        ...made,
        response: { decode: decodeFetch, parse: (data) => made.response.parse(data) },
      };
    };
  };
  // eslint-disable-next-line @typescript-eslint/unbound-method -- called with its own `this` below
  const { fetch: send } = brokers.prototype;
  brokers.prototype.fetch = async function (request) {
    const plainly = () => send.call(this, request);
    const fetchOnce = () =>
      request.rackId === undefined ? plainly() : fetchInSession(this, request, plainly);
    // A fetch that does not wait for records is not part of a loop.
    return request.maxWaitTime > 0 ? fetchInTurn(this, fetchOnce) : fetchOnce();
  };
}

/**
 * Decodes a response like kafkajs: its numbers in text form stay text, except offset and timestamp
 * of a record. It adds `next` to each partition (see `FetchedBatches`).
 */
export async function decodeFetch(raw: Buffer): Promise<unknown> {
  const reader = new ByteReader(raw);
  const clientSideThrottleTime = reader.int32();
  const errorCode = reader.int16();
  const sessionId = reader.int32();
  const responses: unknown[] = [];
  for (let topics = reader.int32(); topics > 0; topics--) {
    const topicName = reader.string();
    const partitions: unknown[] = [];
    for (let count = reader.int32(); count > 0; count--) {
      partitions.push(await decodePartition(reader));
    }
    responses.push({ topicName, partitions });
  }
  return { throttleTime: 0, clientSideThrottleTime, errorCode, sessionId, responses };
}

async function decodePartition(reader: ByteReader): Promise<unknown> {
  const partition = reader.int32();
  const errorCode = reader.int16();
  const highWatermark = String(reader.int64());
  const lastStableOffset = String(reader.int64());
  const lastStartOffset = String(reader.int64());
  const abortedTransactions: unknown[] = [];
  for (let left = reader.int32(); left > 0; left--) {
    abortedTransactions.push({
      producerId: String(reader.int64()),
      firstOffset: String(reader.int64()),
    });
  }
  const preferredReadReplica = reader.int32();
  const size = Math.max(0, reader.int32());
  const { records, next } = await readBatches(
    reader.buffer.subarray(reader.at, (reader.at += size)),
    decompress,
  );
  return {
    partition,
    errorCode,
    highWatermark,
    lastStableOffset,
    lastStartOffset,
    abortedTransactions,
    preferredReadReplica,
    messages: records,
    next,
  };
}

function decompress(attributes: number, bytes: Buffer): Promise<Buffer> {
  const codec = compression.lookupCodecByAttributes(attributes);
  return codec ? codec.decompress(bytes) : Promise.resolve(bytes);
}

function patchRequestQueues(): void {
  // eslint-disable-next-line @typescript-eslint/unbound-method -- both are called with their own `this` below
  const { scheduleCheckPendingRequests: schedule, push } = queues.prototype;
  queues.prototype.scheduleCheckPendingRequests = function (this: RequestQueue) {
    if (this.pending.length > 0) schedule.call(this);
  };
  queues.prototype.push = function (this: RequestQueue, request: object) {
    // The map is empty before the first request.
    if (this.inflight instanceof Map && this.inflight.size === 0) {
      this.inflight = new StartedRequests();
    }
    push.call(this, request);
  };
  queues.prototype.scheduleRequestTimeoutCheck = function (this: RequestQueue) {
    if (!this.enforceRequestTimeout) return;
    this.destroy();
    this.requestTimeoutIntervalId = setInterval(() => {
      const now = performance.now();
      this.inflight.forEach((request) => {
        if (now - (request.startedAt ?? now) > request.requestTimeout) request.timeoutRequest();
      });
      if (!this.isConnected()) this.destroy();
    }, TIMEOUT_CHECK_MS).unref();
  };
}
