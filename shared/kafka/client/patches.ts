import { Kafka as KafkaJs, type KafkaConfig } from 'kafkajs';
import { patchHalfConnections } from './half-connected';

/**
 * Changes kafkajs where it costs too much or waits for too long. The version of kafkajs is pinned.
 *
 * The request queue of a connection has a timer that never stops: after each answer it schedules a
 * check of waiting requests at a time in the past, and so once a millisecond for as long as it
 * exists (kafkajs issue 1704). An idle process spent 4 % of a core on it, and Node 24 and later
 * warn of the negative delay. The check is needed only while requests wait; a later request
 * schedules one itself.
 *
 * Each queue also looks ten times a second for requests that take longer than ten seconds, which
 * woke an idle process more often than its work. Now it looks once a second, while a request waits
 * for its answer.
 *
 * Metadata counts also if it has errors: kafkajs would throw the first one, so that one partition
 * without a leader, or one topic that is missing, would hide all others, and the brokers.
 *
 * A broker whose first answer is late does not count as connected (half-connected.ts).
 */

interface RequestQueue {
  inflight: Map<number, InFlight>;
  pending: readonly unknown[];
  sendSocketRequest: (this: RequestQueue, request: InFlight) => void;
  scheduleCheckPendingRequests: (this: RequestQueue) => void;
  enforceRequestTimeout: boolean;
  requestTimeoutIntervalId: NodeJS.Timeout | null;
  scheduleRequestTimeoutCheck: (this: RequestQueue) => void;
  isConnected: (this: RequestQueue) => boolean;
  destroy: (this: RequestQueue) => void;
}

interface InFlight {
  /** by `performance.now()`: the time that kafkajs notes is of a clock that may be set */
  startedAt?: number;
  /** ms */
  requestTimeout: number;
  timeoutRequest(): void;
}

const TIMEOUT_CHECK_MS = 1_000;

// eslint-disable-next-line @typescript-eslint/no-require-imports -- kafkajs does not export it
const queues = require('kafkajs/src/network/requestQueue') as { prototype: RequestQueue };

interface Metadata {
  protocol: (by: { version: number }) => (input: object) => { request: unknown; response: object };
}

// eslint-disable-next-line @typescript-eslint/no-require-imports -- kafkajs does not export it
const metadata = require('kafkajs/src/protocol/requests/metadata') as Metadata;

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
  const marked = queues as typeof queues & { [PATCHED]?: true };
  if (marked[PATCHED]) return;
  marked[PATCHED] = true;
  patchRequestQueues();
  patchMetadata();
  patchHalfConnections();
}

function patchMetadata(): void {
  const { protocol } = metadata;
  metadata.protocol = (by) => (input) => {
    const { request, response } = protocol(by)(input);
    return { request, response: { ...response, parse: (data: unknown) => Promise.resolve(data) } };
  };
}

function patchRequestQueues(): void {
  const {
    scheduleCheckPendingRequests: schedule,
    sendSocketRequest: send,
    destroy,
  } = queues.prototype;
  queues.prototype.scheduleCheckPendingRequests = function (this: RequestQueue) {
    if (this.pending.length > 0) schedule.call(this);
  };
  queues.prototype.sendSocketRequest = function (this: RequestQueue, request: InFlight) {
    request.startedAt = performance.now();
    send.call(this, request);
    this.requestTimeoutIntervalId ??= checkTimeouts(this);
  };
  // `sendSocketRequest` begins the check of timeouts.
  queues.prototype.scheduleRequestTimeoutCheck = () => undefined;
  queues.prototype.destroy = function (this: RequestQueue) {
    destroy.call(this);
    this.requestTimeoutIntervalId = null;
  };
}

function checkTimeouts(queue: RequestQueue): NodeJS.Timeout | null {
  if (!queue.enforceRequestTimeout) return null;
  const check = setInterval(() => {
    const now = performance.now();
    queue.inflight.forEach((request) => {
      if (now - (request.startedAt ?? now) > request.requestTimeout) request.timeoutRequest();
    });
    if (queue.inflight.size > 0 && queue.isConnected()) return;
    clearInterval(check);
    if (queue.requestTimeoutIntervalId === check) queue.requestTimeoutIntervalId = null;
  }, TIMEOUT_CHECK_MS).unref();
  return check;
}
