import { type Round, type WaitingPhase } from '../../../../tools/bench/report/figures';
import { usageRows } from '../../../../tools/bench/report/report';

const usage = (last: number, cores: number) => ({ cores, rssMb: { first: 1, last, most: last + 1 } });
const phase = (name: string, of: WaitingPhase['of']): WaitingPhase => ({
  name,
  fromMs: 0,
  toMs: 1,
  of,
  lateness: { count: 1, p50Ms: 1, p99Ms: 1, maxMs: 1, missing: 0 },
});
const aRound = (phases: WaitingPhase[]): Round => ({
  bare: [],
  failures: [],
  waiting: { count: 10, perSecond: 1, seconds: 1, phases },
});

describe('usage while deliveries wait', () => {
  it('stands phase beside phase, a process that came later with empty cells before', () => {
    const one = phase('one', { retry: usage(80, 0.1) });
    const two = phase('two', { retry: usage(90, 0.2), 'retry 2': usage(70, 0.3) });
    expect(usageRows([aRound([one, two])])).toEqual([
      ['while deliveries wait', 'one', 'two'],
      ['retry: MB at the end', '80.0', '90.0'],
      ['retry: MB at most', '81.0', '91.0'],
      ['retry: cores', '0.100', '0.200'],
      ['retry 2: MB at the end', '', '70.0'],
      ['retry 2: MB at most', '', '71.0'],
      ['retry 2: cores', '', '0.300'],
    ]);
  });

  it('is the median over the rounds', () => {
    const rounds = [10, 30, 20].map((mb) => aRound([phase('one', { retry: usage(mb, 0) })]));
    expect(usageRows(rounds)[1]).toEqual(['retry: MB at the end', '20.0']);
  });

  it('has no rows where it was not measured', () => expect(usageRows([{ bare: [], failures: [] }])).toEqual([]));
});
