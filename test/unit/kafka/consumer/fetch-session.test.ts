import { FetchSession } from '../../../../shared/kafka/consumer/fetch-session';
import { type FetchTopic } from '../../../../shared/kafka/protocol/fetch-request';

const topic = (
  name: string,
  offsets: Record<number, number>,
  maxBytes = 100,
  leaderEpoch = 1,
): FetchTopic => ({
  topic: name,
  partitions: Object.entries(offsets).map(([partition, offset]) => ({
    partition: Number(partition),
    leaderEpoch,
    offset,
    maxBytes,
  })),
});
const granted = { errorCode: 0, sessionId: 7 };

/** Returns a session that has begun with these partitions. */
function begun(topics: FetchTopic[]): FetchSession {
  const session = new FetchSession();
  session.next(topics);
  session.answered(granted);
  return session;
}

test('the first request names all partitions, and asks for a session', () => {
  const topics = [topic('webhooks', { 0: 5, 1: 9 })];
  expect(new FetchSession().next(topics)).toEqual({
    sessionId: 0,
    sessionEpoch: 0,
    topics,
    forgotten: [],
  });
});

test.each<[string, FetchTopic[], FetchTopic[], { topic: string; partitions: number[] }[]]>([
  ['nothing, if nothing has changed', [topic('a', { 0: 5, 1: 9 }), topic('b', { 0: 1 })], [], []],
  [
    'a partition with a new offset',
    [topic('a', { 0: 5, 1: 12 }), topic('b', { 0: 1 })],
    [topic('a', { 1: 12 })],
    [],
  ],
  [
    'a partition with another limit',
    [topic('a', { 0: 5, 1: 9 }), topic('b', { 0: 1 }, 50)],
    [topic('b', { 0: 1 }, 50)],
    [],
  ],
  [
    'a partition whose leader was elected again',
    [topic('a', { 0: 5, 1: 9 }), topic('b', { 0: 1 }, 100, 2)],
    [topic('b', { 0: 1 }, 100, 2)],
    [],
  ],
  [
    'a new partition, and one that is no longer fetched',
    [topic('a', { 1: 9, 2: 0 }), topic('b', { 0: 1 })],
    [topic('a', { 2: 0 })],
    [{ topic: 'a', partitions: [0] }],
  ],
  [
    'a topic that is no longer fetched',
    [topic('a', { 0: 5, 1: 9 })],
    [],
    [{ topic: 'b', partitions: [0] }],
  ],
])('a later request names %s', (_, wanted, topics, forgotten) => {
  const session = begun([topic('a', { 0: 5, 1: 9 }), topic('b', { 0: 1 })]);
  expect(session.next(wanted)).toEqual({ sessionId: 7, sessionEpoch: 1, topics, forgotten });
});

test('each request has the next number, and one follows the last', () => {
  const topics = [topic('a', { 0: 5 })];
  const session = begun(topics);
  const epochs = [1, 2, 3].map(() => {
    const { sessionEpoch } = session.next(topics);
    session.answered(granted);
    return sessionEpoch;
  });
  expect(epochs).toEqual([1, 2, 3]);
});

test('a partition that is fetched again after it was forgotten is named again', () => {
  const [both, one] = [[topic('a', { 0: 5, 1: 9 })], [topic('a', { 0: 5 })]];
  const session = begun(both);
  session.next(one);
  session.answered(granted);
  expect(session.next(both).topics).toEqual([topic('a', { 1: 9 })]);
});

test('a session lost by the broker or without a response restarts with all partitions', () => {
  const topics = [topic('a', { 0: 5 })];
  const session = begun(topics);
  session.next(topics);
  expect(session.answered({ errorCode: 71, sessionId: 0 })).toBe(false);
  // The id lets the broker drop what it may still have of the session.
  const all = { sessionId: 7, sessionEpoch: 0, topics, forgotten: [] };
  expect(session.next(topics)).toEqual(all);
  expect(session.answered(granted)).toBe(true);
  session.next(topics);
  session.reset();
  expect(session.next(topics)).toEqual(all);
});

test('a broker that gives no session is told of all partitions each time', () => {
  const topics = [topic('a', { 0: 5 })];
  const session = new FetchSession();
  session.next(topics);
  expect(session.answered({ errorCode: 0, sessionId: 0 })).toBe(true);
  expect(session.next(topics)).toMatchObject({ sessionEpoch: 0, topics });
});

test('an error in response to a request without a session is thrown', () => {
  const session = new FetchSession();
  session.next([topic('a', { 0: 5 })]);
  expect(() => session.answered({ errorCode: 71, sessionId: 0 })).toThrow('error 71');
});
