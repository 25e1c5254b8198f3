import { patchKafkajs } from '../../../../shared/kafka/client/patches';

/** Uses kafkajs's own request queue, so that the tests fail if it changes. */

interface Queue {
  inflight: { readonly size: number };
  pending: unknown[];
  throttledUntil: number;
  checkPendingRequests(): void;
  push(request: object): void;
  fulfillRequest(answer: { correlationId: number; payload: unknown; size: number }): void;
  scheduleRequestTimeoutCheck(): void;
  destroy(): void;
}
const RequestQueue = jest.requireActual<new (options: object) => Queue>(
  'kafkajs/src/network/requestQueue',
);

beforeEach(() => {
  jest.useFakeTimers();
  patchKafkajs();
});
afterEach(() => jest.useRealTimers());

function setUp({ enforceRequestTimeout = false } = {}) {
  const logger = { debug: () => undefined };
  const options = { maxInFlightRequests: null, requestTimeout: 1_000, enforceRequestTimeout };
  const queue = new RequestQueue({
    ...options,
    clientId: 'test',
    broker: 'b',
    logger,
    isConnected: () => true,
  });
  const sent: number[] = [];
  const ended: unknown[] = [];
  const push = (correlationId: number) => {
    const [resolve, reject] = [
      () => ended.push(correlationId),
      (error: Error) => ended.push(error.message),
    ];
    const entry = { correlationId, resolve, reject };
    queue.push({ entry, expectResponse: true, sendRequest: () => sent.push(correlationId) });
  };
  return { queue, sent, ended, push };
}

test('a connection without waiting requests has no timer', () => {
  const { queue, sent, push } = setUp();
  push(1);
  queue.checkPendingRequests();
  expect({ sent, timers: jest.getTimerCount() }).toEqual({ sent: [1], timers: 0 });
});

test('a connection has a timer while a request waits for its answer, and not long after', () => {
  const { queue, push } = setUp({ enforceRequestTimeout: true });
  queue.scheduleRequestTimeoutCheck();
  const timers = [jest.getTimerCount()];
  push(1);
  timers.push(jest.getTimerCount());
  queue.fulfillRequest({ correlationId: 1, payload: null, size: 0 });
  jest.advanceTimersByTime(1_000);
  timers.push(jest.getTimerCount());
  push(2);
  timers.push(jest.getTimerCount());
  queue.destroy();
  expect(timers).toEqual([0, 1, 0, 1]);
});

test('a request that was throttled fails without an answer like any other', () => {
  const { queue, ended, push } = setUp({ enforceRequestTimeout: true });
  queue.throttledUntil = Date.now() + 300;
  push(1);
  jest.advanceTimersByTime(3_000);
  queue.destroy();
  expect(ended.length).toBe(1);
});

test('a throttled request is sent when the throttle ends, and then no timer is left', () => {
  const { queue, sent, push } = setUp();
  queue.throttledUntil = Date.now() + 300;
  push(1);
  jest.advanceTimersByTime(290);
  expect(sent).toEqual([]);
  jest.advanceTimersByTime(20);
  expect({ sent, timers: jest.getTimerCount() }).toEqual({ sent: [1], timers: 0 });
});

test.each([
  ['that is right', 0],
  ['that is set back an hour', -3_600_000],
  ['that is set ahead an hour', 3_600_000],
])('with a clock %s, only an unanswered request fails, within a second', (_, setMs) => {
  const { queue, ended, push } = setUp({ enforceRequestTimeout: true });
  queue.scheduleRequestTimeoutCheck();
  push(1);
  jest.setSystemTime(Date.now() + setMs);
  jest.advanceTimersByTime(1_500);
  push(2);
  expect(ended).toEqual([]);
  jest.advanceTimersByTime(500);
  expect([ended.length, queue.inflight.size]).toEqual([1, 1]);
  queue.destroy();
  expect(jest.getTimerCount()).toBe(0);
});

test('metadata counts also if a topic or a partition in it has an error', async () => {
  const { protocol } = jest.requireActual<{
    protocol(by: { version: number }): (input: object) => {
      response: { parse(data: object): Promise<object> };
    };
  }>('kafkajs/src/protocol/requests/metadata');
  const { response } = protocol({ version: 6 })({ topics: [], allowAutoTopicCreation: false });
  const data = {
    topicMetadata: [
      { topicErrorCode: 3, partitionMetadata: [] },
      { topicErrorCode: 0, partitionMetadata: [{ partitionErrorCode: 5, leader: -1 }] },
    ],
  };
  expect(await response.parse(data)).toBe(data);
});
