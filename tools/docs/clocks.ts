import { markdownTable } from '../harness/table';
import { type Fault, lateness } from './one-retry';

/** Returns the tables of docs/reference/clocks.md: how late an attempt is with wrong clocks. */

/** When a fault happens: the delivery waits from one minute to two. */
const MOMENTS = {
  'before the write': 30_000,
  'while it waits': 80_000,
  after: 119_900,
};

const AHEAD_MS = 60_000;
const BACK_MS = -75_000;
const AWAY_MS = 90_000;

type NamedFault = readonly [name: string, fault: Fault];

const CLOCKS: Readonly<Record<string, (byMs: number) => Fault>> = {
  "delivery's": (byMs) => (world) => (world.delivery.wrongMs += byMs),
  "retry's": (byMs) => (world) => (world.retry.wrongMs += byMs),
  "the broker's": (byMs) => (world) => (world.brokerWrongMs += byMs),
};
const STEPS = [
  { byMs: AHEAD_MS, how: 'go 60 s ahead', hows: 'goes 60 s ahead', where: '60 s ahead' },
  { byMs: BACK_MS, how: 'go 75 s back', hows: 'goes 75 s back', where: '75 s behind' },
];
const SERVICES = ['delivery', 'retry'] as const;

function both(...faults: Fault[]): Fault {
  return (world) => {
    for (const fault of faults) fault(world);
  };
}

const oneClock: NamedFault[] = Object.entries(CLOCKS).flatMap(([whose, by]) =>
  STEPS.map(({ byMs, hows }): NamedFault => [`${whose} clock ${hows}`, by(byMs)]),
);
const away = SERVICES.flatMap((service): NamedFault[] => [
  [`${service}'s machine sleeps for 90 s`, (world) => world[service].sleep(AWAY_MS)],
  [`${service}'s process is frozen for 90 s`, (world) => world[service].freeze(AWAY_MS)],
  [
    `${service}'s machine is stopped by its hypervisor for 90 s`,
    (world) => world[service].stop(AWAY_MS),
  ],
]);
const starts = SERVICES.flatMap((service) =>
  STEPS.map(({ byMs, where }): NamedFault => [
    `${service} starts, its clock ${where}`,
    (world) => world.restart(service, byMs),
  ]),
);
const pairs = Object.entries(CLOCKS).flatMap(([one, by], i, all) =>
  all
    .slice(i + 1)
    .flatMap(([other, andBy]) =>
      STEPS.map(({ byMs, how }): NamedFault => [
        `${one} and ${other} clock ${how}`,
        both(by(byMs), andBy(byMs)),
      ]),
    ),
);
const startsBesideWrongBroker = SERVICES.flatMap((service) =>
  STEPS.map(({ byMs, hows }): NamedFault => [
    `the only broker's clock ${hows}, and ${service} starts`,
    (world) => {
      world.brokerWrongMs += byMs;
      world.restart(service, 0);
    },
  ]),
);
const allClocks = STEPS.map(({ byMs, how }): NamedFault => [
  `the clocks of all machines ${how}`,
  both(...Object.values(CLOCKS).map((by) => by(byMs))),
]);

/** Faults by what Waypost promises for them. */
export const FAULTS = {
  onTime: [...oneClock, ...away, ...starts],
  neverEarly: [...pairs, ...startsBesideWrongBroker],
  neverLost: allClocks,
};

export const ON_TIME = 'on time';

/**
 * Returns a fault, and how late the attempt is for each moment, in words: the worse of two cases,
 * in which retry returns this delivery alone, or others all the time.
 */
export function rowOf([name, fault]: NamedFault): string[] {
  const worst = (atMs: number) => {
    const [alone, amongOthers] = [lateness(fault, atMs, false), lateness(fault, atMs, true)];
    return alone < 0 || amongOthers < 0
      ? Math.min(alone, amongOthers)
      : Math.max(alone, amongOthers);
  };
  return [name, ...Object.values(MOMENTS).map((atMs) => inWords(worst(atMs)))];
}

function inWords(lateMs: number): string {
  if (lateMs === Infinity) return 'never';
  if (lateMs < 0) return `${String(Math.round(-lateMs / 1_000))} s early`;
  return lateMs <= 1_000 ? ON_TIME : `${String(Math.round(lateMs / 1_000))} s late`;
}

/** @param which of `FAULTS` */
export function clocksTable(which: keyof typeof FAULTS): string {
  return markdownTable([['fault', ...Object.keys(MOMENTS)], ...FAULTS[which].map(rowOf)]);
}
