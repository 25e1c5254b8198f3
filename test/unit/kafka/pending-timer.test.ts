import { restPendingTimers } from '../../../shared/kafka/pending-timer';

/** On kafkajs's own request queue: that it has not changed is part of what is tested. */

interface Queue {
  pending: unknown[];
  throttledUntil: number;
  checkPendingRequests(): void;
  push(request: object): void;
  destroy(): void;
}
const RequestQueue = jest.requireActual<new (options: object) => Queue>('kafkajs/src/network/requestQueue');

beforeEach(() => {
  jest.useFakeTimers();
  restPendingTimers();
});
afterEach(() => jest.useRealTimers());

function setUp() {
  const logger = { debug: () => undefined };
  const options = { maxInFlightRequests: null, requestTimeout: 1_000, enforceRequestTimeout: false };
  const queue = new RequestQueue({ ...options, clientId: 'test', broker: 'b', logger, isConnected: () => true });
  const sent: number[] = [];
  const push = (correlationId: number) =>
    queue.push({ entry: { correlationId }, expectResponse: true, sendRequest: () => sent.push(correlationId) });
  return { queue, sent, push };
}

test('a connection without anything to send has no timer', () => {
  const { queue, sent, push } = setUp();
  push(1);
  queue.checkPendingRequests();
  expect({ sent, timers: jest.getTimerCount() }).toEqual({ sent: [1], timers: 0 });
});

test('what the broker asked to hold back is sent when its time has come, and then there is rest', () => {
  const { queue, sent, push } = setUp();
  queue.throttledUntil = Date.now() + 300;
  push(1);
  jest.advanceTimersByTime(290);
  expect(sent).toEqual([]);
  jest.advanceTimersByTime(20);
  expect({ sent, timers: jest.getTimerCount() }).toEqual({ sent: [1], timers: 0 });
});
