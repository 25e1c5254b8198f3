import { drainBetween } from '../../../../tools/bench/drain';
import { definitionEntries, DEFINITIONS, callOfUser } from '../../../../tools/bench/shop';
import { compileExpression } from '../../../../shared/cel/compile';

describe('the messages of many users', () => {
  const users = 1_000;
  const calls = Array.from({ length: 3 * users }, (_, i) => callOfUser(i, users, Date.now()));

  test('each pass has one message of each user, and the first pass is all identifies', () => {
    for (const pass of [0, 1, 2]) {
      const some = calls.slice(pass * users, (pass + 1) * users);
      expect(new Set(some.map(({ userId }) => userId)).size).toBe(users);
      expect(some.every(({ type }) => type === (pass === 0 ? 'identify' : 'track'))).toBe(true);
    }
    expect(new Set(calls.map(({ messageId }) => messageId)).size).toBe(calls.length);
  });

  test('no message has a timestamp after its arrival', () => {
    expect(calls.filter(({ timestamp, receivedAt }) => timestamp > receivedAt)).toEqual([]);
  });
});

describe('the definitions', () => {
  const entries = definitionEntries([5]);

  test('the definitions match their stated number, and each has a separate source', () => {
    const of = (kind: string) => entries.filter((entry) => entry.kind === kind);
    expect([of('audience').length, of('computed_trait').length]).toEqual([
      DEFINITIONS.audiences,
      DEFINITIONS.traits,
    ]);
    const tellers = entries.flatMap((entry) =>
      entry.kind === 'source' ? [[entry.data.id, entry.data.of]] : [],
    );
    const told = entries.flatMap((entry) =>
      'source' in entry.data ? [[entry.data.source, entry.data.id]] : [],
    );
    expect(tellers).toEqual(told);
  });

  test.each(
    entries.flatMap((entry) => (entry.kind === 'audience' ? [entry.data.condition ?? ''] : [])),
  )('the condition of an audience compiles: %s', (condition) =>
    expect(compileExpression(condition, 'audience').kind).toBe('expression'),
  );
});

describe('a drain between two marks', () => {
  test('a drain counts the records done between its marks', () => {
    const mark = (count: number, atMs: number, used: number) => ({
      count,
      cpu: { atMs, byName: { router: used }, machine: undefined, stolen: undefined },
    });
    expect(drainBetween(mark(1_000, 0, 1), mark(5_000, 2_000, 2))).toMatchObject({
      count: 4_000,
      perSecond: 2_000,
      cpu: { byName: { router: 1 } },
    });
  });
});
