import { Agenda } from '../../../tools/simulator/virtual-clock';
import { Histogram } from '../../../tools/simulator/histogram';
import { PartitionLog } from '../../../tools/simulator/log';
import { help, readCommandLine } from '../../../tools/simulator/options';
import { ProcessTime } from '../../../tools/simulator/process-time';
import { type DispatchResult, type OpenRecord } from '../../../shared/kafka/port';

describe('virtual time', () => {
  test('acts by time, then the order given, and promises settle in between', async () => {
    const agenda = new Agenda();
    const seen: string[] = [];
    agenda.at(20, () => seen.push('c'));
    agenda.at(10, () => {
      seen.push('a');
      void Promise.resolve().then(() => {
        seen.push('a, settled');
        agenda.in(0, () => seen.push('at once'));
      });
      agenda.in(0.5, () => seen.push('a little later'));
    });
    agenda.at(10, () => seen.push('b'));
    await agenda.run(1_000);
    expect(seen).toEqual(['a', 'b', 'a, settled', 'at once', 'a little later', 'c']);
  });

  test('a frozen process hears its clocks once and first, then things from outside', async () => {
    const agenda = new Agenda();
    const time = new ProcessTime(agenda);
    const seen: [string, number][] = [];
    time.every(10, () => seen.push(['tick', agenda.now]));
    agenda.at(25, () => time.freeze(100));
    time.at(50, () => seen.push(['answer', agenda.now]));
    await agenda.run(140);
    expect(seen).toEqual([
      ['tick', 10],
      ['tick', 20],
      ['tick', 125],
      ['answer', 125],
      ['tick', 135],
    ]);
    expect(time.busyMs()).toBe(100);
  });
});

describe('a partition', () => {
  test('is read in order until it is refused, and again when it may', () => {
    const log = new PartitionLog('webhooks', 0, Buffer.from('x'));
    for (const key of ['a', 'b', 'c']) log.append({ key, headers: {} }, 1_000);
    const read: string[] = [];
    let verdict: DispatchResult = 'accepted';
    const reader = (now: number) =>
      log.offer(({ key }) => {
        if (verdict === 'accepted') read.push(String(key));
        return verdict;
      }, now);
    verdict = { againInMs: 500 };
    expect([reader(1_500), reader(1_600)]).toEqual([2_000, 2_000]);
    verdict = 'accepted';
    expect(reader(1_999)).toBe(2_000);
    expect(read).toEqual([]);
    expect(reader(2_000)).toBeUndefined();
    expect(read).toEqual(['a', 'b', 'c']);
    verdict = 'busy';
    log.append({ key: 'd', headers: {} }, 2_000);
    reader(2_001);
    verdict = 'accepted';
    reader(2_002);
    expect(log.size).toBe(1);
    expect([log.resume(), log.resume()]).toEqual([true, false]);
    reader(2_003);
    expect(read.at(-1)).toBe('d');
  });
});

test('a partition that moves keeps its records: handed back, unread and new ones', () => {
  const log = new PartitionLog('webhooks', 0, Buffer.from('x'));
  for (const key of ['a', 'b', 'c']) log.append({ key, headers: {} }, 1_000);
  const held: OpenRecord[] = [];
  log.offer((record) => {
    if (held.length === 2) return 'busy';
    held.push(record);
    return 'accepted';
  }, 2_000);
  log.leaving = true;
  expect(held.map(({ isRevoking }) => isRevoking)).toEqual([true, true]);
  held[0]?.done();
  held[1]?.handBack();
  expect(log.open).toBe(0);
  log.append({ key: 'd', headers: {} }, 2_000);
  expect(log.cut(1)).toBe(3);
  log.handOver();
  const read: string[] = [];
  log.offer(({ key, offset }) => {
    read.push(`${String(key)}${String(offset)}`);
    return 'accepted';
  }, 3_000);
  expect(read).toEqual(['b1', 'c2']);
});

test('a cut takes what was read too: it is lost unless somebody has it, and reading goes on at the new end', () => {
  const log = new PartitionLog('webhooks', 0, Buffer.from('x'));
  const lost: string[] = [];
  log.onLost = ({ key }) => lost.push(String(key));
  for (const key of ['done', 'held', 'handed back', 'handed back later', 'unread']) {
    log.append({ key, headers: {} }, 1_000);
  }
  const held = new Map<string, OpenRecord>();
  log.offer((record) => {
    if (held.size === 4) return 'busy';
    held.set(String(record.key), record);
    return 'accepted';
  }, 2_000);
  held.get('done')?.done();
  held.get('handed back')?.handBack();
  expect(log.cut(5)).toBe(0);
  expect(lost).toEqual(['handed back', 'unread']);
  held.get('held')?.done();
  held.get('handed back later')?.handBack();
  expect(lost).toEqual(['handed back', 'unread', 'handed back later']);
  expect(log.open).toBe(0);
  log.append({ key: 'new', headers: {} }, 3_000);
  log.resume();
  const read: string[] = [];
  log.offer(({ key, offset }) => {
    read.push(`${String(key)} ${String(offset)}`);
    return 'accepted';
  }, 3_000);
  expect(read).toEqual(['new 0']);
});

test('percentiles are exact below a second, and of three digits above', () => {
  const histogram = new Histogram();
  for (let ms = 1; ms <= 99; ms++) histogram.add(ms);
  histogram.add(12_345);
  expect([0.5, 0.99, 1].map((share) => histogram.percentile(share))).toEqual([50, 99, 12_300]);
  expect(new Histogram().percentile(0.5)).toBeNaN();
});

describe('the command line of the simulator', () => {
  const scenario = (name: string) => ({ name, about: `about ${name}` });
  const known = [scenario('outage'), scenario('burst'), scenario('scale')];
  const read = (line: string) => readCommandLine(line.split(' '), known);

  test('takes names and a seed', () => {
    expect(read('scale burst --seed 12 --short')).toEqual({
      scenarios: ['burst', 'scale'],
      seed: 12,
      short: true,
    });
  });

  test('plays all of them, by seed 1 where none is given', () => {
    expect(read('all')).toMatchObject({
      scenarios: ['outage', 'burst', 'scale'],
      seed: 1,
      short: false,
    });
  });

  test('tells what there is', () => {
    expect(read('--help')).toBe('help');
    expect(help(known)).toMatch(/outage +about outage[^]*scale +about scale[^]*--seed/);
  });

  test.each([[[]], [['none']], [['burst', '--seed', 'x']], [['burst', '--fast']]])(
    'refuses %j',
    (args) => {
      expect(() => readCommandLine(args, known)).toThrow(
        'node dist/tools/simulator/main.js --help',
      );
    },
  );
});
