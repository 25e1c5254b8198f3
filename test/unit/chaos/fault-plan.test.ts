import { describeAct, type Fault, planFaults } from '../../../tools/chaos/fault-plan';
import { randomOf } from '../../../tools/harness/random';

const plan = (over: Partial<Parameters<typeof planFaults>[0]> = {}) =>
  planFaults({
    seed: 7,
    forMs: 120_000,
    brokers: 1,
    together: false,
    longestOutageMs: 15_000,
    ...over,
  });
const kinds = (faults: Fault[]) => new Set(faults.map(({ kind }) => kind));

describe('a plan of faults', () => {
  test('is the same for one seed and differs for another', () => {
    expect(plan()).toEqual(plan());
    expect(plan({ seed: 8 })).not.toEqual(plan());
  });

  test('has every kind of fault in two minutes', () => {
    expect([...kinds(plan())].sort()).toEqual([
      'cancel',
      'clock',
      'endpoint_down',
      'freeze',
      'freeze_broker',
      'kill',
      'kill_broker',
      'pause',
      'replay',
      'second_delivery',
      'send_now',
      'stop',
      'switch_off',
      'url_gone',
    ]);
  });

  test.each([1, 2, 3, 4, 5])('stays in order and inside its time (seed %i)', (seed) => {
    const times = plan({ seed }).map(({ atMs }) => atMs);
    expect(times).toEqual([...times].sort((a, b) => a - b));
    expect(Math.max(...times)).toBeLessThan(120_000);
  });

  test('leaves a long run time between faults', () => {
    const perMinute = (forMs: number) => plan({ forMs }).length / (forMs / 60_000);
    expect(perMinute(1_800_000)).toBeLessThan(perMinute(60_000) / 2);
  });

  test('hits the one process if all services run in it, with the same kinds of faults', () => {
    const faults = plan({ together: true });
    expect(new Set(faults.flatMap((fault) => ('process' in fault ? [fault.process] : [])))).toEqual(
      new Set(['all']),
    );
    // Its clock says when calls are accepted.
    expect(kinds(faults)).toEqual(new Set([...kinds(plan())].filter((kind) => kind !== 'clock')));
    expect(plan().some((fault) => 'process' in fault && fault.process === 'all')).toBe(false);
  });

  test('has more faults of brokers in a cluster of three', () => {
    const broken = (brokers: number) =>
      plan({ brokers, forMs: 3_600_000 }).filter(({ kind }) => kind === 'kill_broker').length;
    expect(broken(3)).toBeGreaterThan(broken(1));
  });

  test('cuts the power of a cluster only', () => {
    const cuts = (brokers: number) =>
      plan({ brokers, forMs: 3_600_000 }).filter(({ kind }) => kind === 'cut').length;
    expect(cuts(3)).toBeGreaterThan(5);
    expect(cuts(1)).toBe(0);
  });

  test('can be described in words', () => {
    for (const fault of plan({ brokers: 3 })) {
      expect(describeAct(fault)).toMatch(/^[a-z][\w .,()]+$/);
    }
  });
});

describe('random numbers', () => {
  test('follow from the seed and include both bounds', () => {
    const random = randomOf(1);
    const drawn = Array.from({ length: 1_000 }, () => random.between(1, 6));
    const again = randomOf(1);
    expect(drawn).toEqual(Array.from({ length: 1_000 }, () => again.between(1, 6)));
    expect(new Set(drawn)).toEqual(new Set([1, 2, 3, 4, 5, 6]));
  });

  test('shuffle a list without losing an item', () => {
    expect(randomOf(3).shuffled([1, 2, 3, 4, 5]).sort()).toEqual([1, 2, 3, 4, 5]);
  });
});
