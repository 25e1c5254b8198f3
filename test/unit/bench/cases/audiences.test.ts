import { type DrainFigure, drainBetween } from '../../../../tools/bench/drain';
import { filterRows } from '../../../../tools/bench/report/audience-rows';
import { definitionEntries, DEFINITIONS, callOfUser } from '../../../../tools/bench/shop';
import { type Round } from '../../../../tools/bench/report/figures';
import { PLAIN } from '../../../../tools/bench/cases/filters';
import { cellsOf } from '../../../../tools/bench/report/report';
import { compileExpression } from '../../../../shared/cel/compile';

const drain = (routerSeconds: number): DrainFigure => ({
  count: 1_000_000,
  perSecond: 10_000,
  cpu: { seconds: 100, byName: { router: routerSeconds }, foreignCores: 0, stolenCores: 0 },
});

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

describe('the cost of a filter', () => {
  test('the cost of a filter compares with the plain case of the same turn', () => {
    // The machine was twice as slow in the second turn.
    const cases = [
      { name: PLAIN, turns: [drain(50), drain(100)] },
      { name: 'filters match', turns: [drain(60), drain(120)] },
    ];
    const round: Round = { bare: [], failures: [], filters: { destinations: 5, cases } };
    const cells = filterRows([round]).flatMap((row) =>
      cellsOf(row, [round]).map(([what, median]) => [what, median]),
    );
    expect(cells).toEqual([
      ['router, no filter', '75.0'],
      ['router, filters match', '90.0'],
      ['router, filters match', '1.20'],
      ['router, filters match: one filter', '3.00'],
    ]);
  });
});
