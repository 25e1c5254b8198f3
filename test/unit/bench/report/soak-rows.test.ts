import { type Round } from '../../../../tools/bench/report/figures';
import { type SoakFigure } from '../../../../tools/bench/report/soak-figure';
import { growthOf, soakTable } from '../../../../tools/bench/report/soak-rows';
import { failsEvery } from '../../../../tools/harness/receiver';

/** @param mb of control by the minute */
function aSoak(mb: (minute: number) => number): SoakFigure {
  const samples = Array.from({ length: 60 }, (_, i) => ({
    minute: i + 1,
    rssMb: { control: mb(i + 1), ingest: 100 },
    cores: { control: 0.05, ingest: 0.25 },
  }));
  const logged = { services: 1_000, broker: 2_000 };
  return { minutes: 60, perSecond: 440, samples, logged, failed: 3, sent: 1_000, undelivered: 0 };
}

const rowOf = (soak: SoakFigure, name: string) => {
  const round: Round = { bare: [], failures: [], soak };
  return soakTable([round]).find(([first]) => first === name);
};

describe('the soak', () => {
  test("the table has a process's memory at 10, 30 and 60 minutes, its growth and cores", () => {
    const soak = aSoak((minute) => 200 + minute);
    expect(rowOf(soak, 'control')).toEqual([
      'control',
      '210',
      '230',
      '260',
      '260',
      '60.0',
      'grows',
      '0.0500',
    ]);
    expect(rowOf(soak, 'ingest')).toEqual([
      'ingest',
      '100',
      '100',
      '100',
      '100',
      '0',
      'flat',
      '0.250',
    ]);
  });

  test('a process that grows only in the first ten minutes is flat', () => {
    expect(
      growthOf(
        aSoak((minute) => 100 + 20 * Math.min(minute, 10)),
        'control',
      ),
    ).toBeCloseTo(0);
    expect(
      rowOf(
        aSoak((minute) => 300 + (minute % 7)),
        'control',
      ),
    ).toContain('flat');
  });

  test('a round without a soak has no table', () => {
    expect(soakTable([{ bare: [], failures: [] }])).toEqual([]);
  });

  test.each([
    ['/flaky-50/a', 50],
    ['/flaky-/a', undefined],
    ['/ok/flaky-50', undefined],
  ])('%s fails once in %s requests', (path, every) => expect(failsEvery(path)).toBe(every));
});
