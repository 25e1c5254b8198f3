import {
  type Census,
  formatToSwitchOn,
  HOLD_MS,
  LOOK_EVERY_MS,
  takeCensus,
  type Watch,
  watchOn,
} from '../../../../services/control/record-format/decide';
import { type GroupFormats } from '../../../../shared/kafka/port';
import { READS_FORMAT } from '../../../../shared/model/record-format';

const group = (name: string, reads: number[] = [READS_FORMAT], settled = true): GroupFormats => ({
  group: name,
  settled,
  members: reads.map((each) => ({ client: `waypost-${name}`, host: '10.0.0.1', reads: each })),
});
const COMPLETE = ['router', 'delivery', 'retry', 'control-history-db1', 'control-audit-db1'].map(
  (name) => group(name),
);
const without = (name: string) => COMPLETE.filter((each) => each.group !== name);
const census = (...groups: GroupFormats[]) => takeCensus(groups, false);

type Found = Pick<Census, 'readable' | 'missing' | 'settling'>;
const found = (over: Partial<Found> = {}): Found => ({
  readable: READS_FORMAT,
  missing: [],
  settling: [],
  ...over,
});
const mixed = group('router', [READS_FORMAT, 1, READS_FORMAT]);
const old = [group('control-history-db2', [1])];
const unknown = [group('router-config-1f', [1])];
const rebalancing = group('retry', [1], false);

test.each<[string, GroupFormats[], boolean, Found]>([
  ['members of this version read its format', COMPLETE, false, found()],
  [
    'one older member is enough to hold it back',
    [...without('router'), mixed],
    false,
    found({ readable: 1 }),
  ],
  [
    'an older control process with another database counts',
    [...COMPLETE, ...old],
    false,
    found({ readable: 1 }),
  ],
  [
    'a member of a group that this version does not know counts',
    [...COMPLETE, ...unknown],
    false,
    found({ readable: 1 }),
  ],
  [
    'a newer member holds nothing back',
    [...without('router'), group('router', [7])],
    false,
    found(),
  ],
  [
    'a service without a process is missing',
    without('delivery'),
    false,
    found({ missing: ['delivery'] }),
  ],
  [
    'a service whose process is away is missing',
    [...without('retry'), group('retry', [])],
    false,
    found({ missing: ['retry'] }),
  ],
  [
    'control without its history is missing',
    without('control-history-db1'),
    false,
    found({ missing: ['control-history'] }),
  ],
  [
    'a group that assigns its partitions is not missing',
    [...without('retry'), rebalancing],
    false,
    found({ readable: 1, settling: ['retry'] }),
  ],
  [
    'audiences is required once something is defined',
    COMPLETE,
    true,
    found({ missing: ['audiences'] }),
  ],
  ['audiences is present with its group', [...COMPLETE, group('audiences')], true, found()],
  [
    'an empty group of a database that is gone is ignored',
    [...COMPLETE, group('control-history-db0', [])],
    false,
    found(),
  ],
])('%s', (_, groups, withAudiences, expected) => {
  expect(takeCensus(groups, withAudiences)).toMatchObject(expected);
});

/** Looks at these times with these groups. @returns the formats that would be switched on */
function look(
  looks: readonly (readonly [atMs: number, GroupFormats[]])[],
  entry = { format: 1, automatic: true },
) {
  let watch: Watch | undefined;
  return looks.map(([atMs, groups]) => {
    watch = watchOn(watch, census(...groups), atMs);
    return formatToSwitchOn(entry, watch, atMs);
  });
}
const every = (fromMs: number, toMs: number, groups: GroupFormats[]) =>
  Array.from(
    { length: Math.floor((toMs - fromMs) / LOOK_EVERY_MS) + 1 },
    (_, i) => [fromMs + i * LOOK_EVERY_MS, groups] as const,
  );
const OLD = [...without('router'), mixed];
const SETTLING = [...without('retry'), rebalancing];
const last = (looks: Parameters<typeof look>[0], entry?: { format: number; automatic: boolean }) =>
  look(looks, entry).at(-1);

test('a format is switched on when every process has read it for ten minutes, not before', () => {
  const results = look(every(0, HOLD_MS, COMPLETE));
  expect([results.at(-1), results.slice(0, -1).every((result) => result === undefined)]).toEqual([
    READS_FORMAT,
    true,
  ]);
});

test.each<[string, Parameters<typeof look>[0], number | undefined]>([
  [
    'an older process that returned begins the time again',
    [...every(0, 300_000, COMPLETE), [305_000, OLD], ...every(310_000, HOLD_MS, COMPLETE)],
    undefined,
  ],
  [
    'the time counts from the last look that saw an older process',
    [[0, OLD], ...every(5_000, 5_000 + HOLD_MS, COMPLETE)],
    READS_FORMAT,
  ],
  [
    'a service that is away begins the time again',
    [
      ...every(0, 300_000, COMPLETE),
      [305_000, without('router')],
      ...every(310_000, HOLD_MS, COMPLETE),
    ],
    undefined,
  ],
  [
    'a rebalance does not begin the time again',
    [...every(0, 300_000, COMPLETE), [305_000, SETTLING], ...every(310_000, HOLD_MS, COMPLETE)],
    READS_FORMAT,
  ],
  [
    'nothing is switched on during a rebalance',
    [...every(0, HOLD_MS - 5_000, COMPLETE), [HOLD_MS, SETTLING]],
    undefined,
  ],
  [
    'a minute without a look begins the time again',
    [...every(0, 300_000, COMPLETE), ...every(361_000, HOLD_MS, COMPLETE)],
    undefined,
  ],
])('%s', (_, looks, expected) => {
  expect(last(looks)).toBe(expected);
});

test.each([
  [
    'a system in which newer formats are switched off keeps its format',
    { format: 1, automatic: false },
  ],
  ['a system that writes the newest format keeps it', { format: READS_FORMAT, automatic: true }],
  ['a system with a format that is not known here keeps it', { format: 9, automatic: true }],
])('%s', (_, entry) => {
  expect(last(every(0, HOLD_MS, COMPLETE), entry)).toBeUndefined();
});
