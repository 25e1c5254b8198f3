import { certificateEnds, type Fact, factOf } from '../../../../services/control/health/facts';

const HOUR_MS = 3_600_000;
const START = Date.parse('2026-01-02T00:00:00.000Z');
const iso = (hours: number) => new Date(START + hours * HOUR_MS).toISOString();

/** A certificate by the day of its end, seen at each of these hours. */
function seen(endsOnDay: number, ...hours: number[]): Fact {
  const facts = hours.map((hour) =>
    factOf({
      kind: 'certificate',
      origin: 'https://a.example',
      notAfter: iso(endsOnDay * 24),
      at: iso(hour),
    }),
  );
  const times = facts.map((fact) => fact!.at);
  return { ...facts[0]!, firstAt: Math.min(...times), at: Math.max(...times) };
}

test.each<[string, Fact[], number, number]>([
  ['the only one, although it was not seen for long', [seen(20, 0)], 200, 20],
  ['one that replaced another one', [seen(20, 0, 1), seen(90, 2)], 2, 90],
  ['one that replaced another one and ends earlier', [seen(90, 0, 1), seen(20, 2)], 2, 20],
  ['the earliest of servers that take turns', [seen(20, 0, 2), seen(90, 1, 3)], 3, 20],
  ['the earliest, a day after it was seen', [seen(20, 0, 2), seen(90, 1, 26)], 26, 20],
  [
    'the other one, once the earliest was not seen for a day',
    [seen(20, 0, 2), seen(90, 1, 27)],
    27,
    90,
  ],
  ['the earliest of three', [seen(90, 0, 4), seen(20, 1, 5), seen(40, 2, 6)], 6, 20],
])('the end of an origin counts by %s', (_, facts, hour, expected) => {
  for (const order of [facts, facts.toReversed()]) {
    const ends = certificateEnds(order, START + hour * HOUR_MS);
    expect([...ends]).toEqual([['https://a.example', START + expected * 24 * HOUR_MS]]);
  }
});

test('facts that cannot be used are none', () => {
  const at = iso(0);
  const origin = 'https://a.example';
  expect(factOf({ kind: 'certificate', origin, notAfter: 'never', at })).toBeUndefined();
  expect(factOf({ kind: 'certificate', origin, notAfter: at, at: 'once' })).toBeUndefined();
  const filter = { kind: 'filter' as const, destination: 'dst_1', filter: 'x', limit: 1, at };
  expect(factOf({ ...filter, units: Number.NaN })).toBeUndefined();
});
