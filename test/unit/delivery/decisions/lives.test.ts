import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { admit } from '../../../../services/delivery/decisions/admission';
import {
  concludeAttempt,
  type Disposition,
  recordsOf,
} from '../../../../services/delivery/decisions/disposition';
import { type OpenLookup } from '../../../../services/delivery/destinations/endpoint';
import { decodeDelivery, type Delivery } from '../../../../shared/model/delivery';
import {
  effectiveDelay,
  lastReturnAt,
  LONGEST_ASKED_MS,
  parkTiers,
} from '../../../../shared/model/schedule';
import { parseDuration } from '../../../../shared/model/time';
import { ROOT } from '../../../../shared/runtime/repo-root';
import { cases } from '../../../support/cases';
import { blockNamed } from '../../../support/doc-blocks';
import { aDelivery } from '../../../support/factories';

/**
 * Whole lives of deliveries that fail at every attempt, through the real decisions and records,
 * with tiers that return them on time. docs/reference/schedule.md has the same table.
 */

const START = 1_700_000_000_000;
const TIERS = asList('10s, 1m, 5m, 15m, 30m');

interface Given {
  /** undefined: the tiers */
  delaysMs: number[] | undefined;
  /** of each response; undefined: no header */
  askedMs: number | undefined;
  windowMs: number;
  tiersMs?: number[];
  /** of each return from a tier */
  lateMs?: number;
}

function asList(delays: string): number[] {
  return delays.split(', ').map((delay) => parseDuration(delay)!);
}

/** Returns when it is attempted, ms after its acceptance, and how it ends. */
function live({ delaysMs, askedMs, windowMs, tiersMs = TIERS, lateMs = 0 }: Given) {
  const lookup = {
    kind: 'open',
    version: 1,
    destination: { enabled: true, paused: false, endpoints: [{ hash: 'h' }], plan: { delaysMs } },
  } as unknown as OpenLookup;
  const attemptsAt: number[] = [];
  let delivery: Delivery = aDelivery({ acceptedAt: START, expiresAt: START + windowMs });
  let nowMs = START;
  let hops = 0;
  for (;;) {
    const timing = { nowMs, tiersMs, windowMs, delaysMs };
    const admission = admit(delivery, lookup, timing);
    if (admission.kind === 'try') attemptsAt.push(nowMs - START);
    const disposition: Disposition =
      admission.kind === 'try'
        ? concludeAttempt(delivery, { ...FAILED, retryAfterMs: askedMs }, timing)
        : admission;
    if (!('wait' in disposition)) return { attemptsAt, hops, end: disposition.kind };
    expect(parkTiers(tiersMs)).toContain(disposition.wait.tierMs);
    delivery = nextDelivery(delivery, disposition, nowMs);
    nowMs += disposition.wait.tierMs + lateMs;
    hops++;
  }
}

const FAILED = {
  urls: [
    {
      url: 'whk',
      origin: 'https://a.example',
      destinationVersion: 1,
      outcome: 'retry' as const,
      durationMs: 1,
    },
  ],
  rejected: [],
  skipped: false,
  durationMs: 1,
};

/** Returns the delivery as its record in the tier holds it. */
function nextDelivery(delivery: Delivery, disposition: Disposition, nowMs: number): Delivery {
  const record = { topic: 'webhooks', partition: 0, offset: 0 };
  const inHand = { delivery, key: null, body: Buffer.alloc(0), record };
  const written = recordsOf(inHand, disposition, nowMs).find(({ topic }) => topic !== 'attempts');
  const decoded = decodeDelivery(written?.headers ?? {});
  if (decoded.kind !== 'delivery') throw new Error('the record cannot be read');
  return decoded.delivery;
}

/** Delays, what each response asks for, the window, and the times of all attempts. */
const LIVES: readonly (readonly [string, string, string, string])[] = [
  ['the tiers', 'nothing', '10m', '0, 10s, 1m 10s, 6m 10s, 9m 50s'],
  ['the tiers', '40s', '10m', '0, 40s, 1m 40s, 6m 40s, 9m 50s'],
  ['the tiers', '5m', '10m', '0, 5m, 9m 50s'],
  ['the tiers', '24h', '10m', '0, 9m 50s'],
  [
    'the tiers',
    'nothing',
    '4h',
    '0, 10s, 1m 10s, 6m 10s, 21m 10s, every 30m until 3h 51m 10s, 3h 59m 50s',
  ],
  [
    'the tiers',
    '40s',
    '4h',
    '0, 40s, 1m 40s, 6m 40s, 21m 40s, every 30m until 3h 51m 40s, 3h 59m 50s',
  ],
  ['the tiers', '5m', '4h', '0, every 5m until 15m, 30m, every 30m until 3h 30m, 3h 59m 50s'],
  ['the tiers', '24h', '4h', '0, every 15m until 1h, every 30m until 3h 30m, 3h 59m 50s'],
  ['1m', 'nothing', '10m', '0, every 1m until 9m, 9m 50s'],
  ['1m', '40s', '10m', '0, every 1m until 9m, 9m 50s'],
  ['1m', '5m', '10m', '0, 5m, 9m 50s'],
  ['1m', '24h', '10m', '0, 9m 50s'],
  ['1m', 'nothing', '4h', '0, every 1m until 3h 59m, 3h 59m 50s'],
  ['1m', '40s', '4h', '0, every 1m until 3h 59m, 3h 59m 50s'],
  ['1m', '5m', '4h', '0, every 5m until 3h 55m, 3h 59m 50s'],
  ['1m', '24h', '4h', '0, every 15m until 3h 45m, 3h 59m 50s'],
  ['45s', 'nothing', '10m', '0, every 50s until 9m 10s, 9m 50s'],
  ['45s', '40s', '10m', '0, every 50s until 9m 10s, 9m 50s'],
  ['45s', '5m', '10m', '0, 5m, 9m 50s'],
  ['45s', '24h', '10m', '0, 9m 50s'],
  ['45s', 'nothing', '4h', '0, every 50s until 3h 59m 10s, 3h 59m 50s'],
  ['45s', '40s', '4h', '0, every 50s until 3h 59m 10s, 3h 59m 50s'],
  ['45s', '5m', '4h', '0, every 5m until 3h 55m, 3h 59m 50s'],
  ['45s', '24h', '4h', '0, every 15m until 3h 45m, 3h 59m 50s'],
  ['30s, 5m, 2h', 'nothing', '10m', '0, 30s, 5m 30s, 9m 50s'],
  ['30s, 5m, 2h', '40s', '10m', '0, 40s, 5m 40s, 9m 50s'],
  ['30s, 5m, 2h', '5m', '10m', '0, 5m, 9m 50s'],
  ['30s, 5m, 2h', '24h', '10m', '0, 9m 50s'],
  ['30s, 5m, 2h', 'nothing', '4h', '0, 30s, 5m 30s, 2h 5m 30s, 3h 59m 50s'],
  ['30s, 5m, 2h', '40s', '4h', '0, 40s, 5m 40s, 2h 5m 40s, 3h 59m 50s'],
  ['30s, 5m, 2h', '5m', '4h', '0, 5m, 10m, 2h 10m, 3h 59m 50s'],
  ['30s, 5m, 2h', '24h', '4h', '0, 15m, 30m, 2h 30m, 3h 59m 50s'],
  ['2h', 'nothing', '10m', '0, 9m 50s'],
  ['2h', '40s', '10m', '0, 9m 50s'],
  ['2h', '5m', '10m', '0, 9m 50s'],
  ['2h', '24h', '10m', '0, 9m 50s'],
  ['2h', 'nothing', '4h', '0, 2h, 3h 59m 50s'],
  ['2h', '40s', '4h', '0, 2h, 3h 59m 50s'],
  ['2h', '5m', '4h', '0, 2h, 3h 59m 50s'],
  ['2h', '24h', '4h', '0, 2h, 3h 59m 50s'],
];

const timesOf = (atMs: readonly number[]) => inRuns(atMs).join(', ');

/** `0, 1m, every 1m until 3m`: three equal steps and more are one entry. */
function inRuns(atMs: readonly number[]): string[] {
  const entries: string[] = [];
  for (let i = 0; i < atMs.length; i++) {
    const step = (at: number) => atMs[at]! - atMs[at - 1]!;
    let last = i;
    while (i > 0 && last + 1 < atMs.length && step(last + 1) === step(i)) last++;
    if (last - i < 2) entries.push(atMs[i] === 0 ? '0' : duration(atMs[i]!));
    else entries.push(`every ${duration(step(i))} until ${duration(atMs[(i = last)]!)}`);
  }
  return entries;
}

/** 3h 51m 10s */
function duration(ms: number): string {
  const parts = [
    [Math.floor(ms / 3_600_000), 'h'],
    [Math.floor(ms / 60_000) % 60, 'm'],
    [(ms / 1_000) % 60, 's'],
  ] as const;
  return parts
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count}${unit}`)
    .join(' ');
}

test.each(LIVES)('delays %s, asked %s, window %s: %s', (delays, asked, window, attempts) => {
  const { attemptsAt, end } = live({
    delaysMs: delays === 'the tiers' ? undefined : asList(delays),
    askedMs: asked === 'nothing' ? undefined : parseDuration(asked),
    windowMs: parseDuration(window)!,
  });
  expect([timesOf(attemptsAt), end]).toEqual([attempts, 'dead']);
});

test.each([
  ['svix', '0, 10s, 5m 10s, 35m 10s, 2h 35m 10s, 7h 35m 10s, 17h 35m 10s, 27h 34m 50s'],
  [
    'outpost',
    '0, 30s, 1m 30s, 3m 30s, 7m 30s, 15m 30s, 31m 30s, 1h 3m 30s, 2h 7m 30s, 4h 15m 30s, 8h 31m 20s',
  ],
  ['rudderstack', '0, 10s, 30s, 1m 10s, 2m 30s, 5m 10s, every 5m until 2h 55m 10s, 2h 59m 50s'],
])('a plan that is copied from %s leads to its attempts: %s', (system, attempts) => {
  const script = blockNamed(`docs/guide/migrate-${system}.md`, 'convert');
  const [, delays = ''] = /delays: \[(.*)\]/.exec(script) ?? [];
  const [, window = ''] = /window: '(.*)'/.exec(script) ?? [];
  const { attemptsAt } = live({
    delaysMs: asList(delays.replaceAll("'", '')),
    askedMs: undefined,
    windowMs: parseDuration(window)!,
  });
  expect(timesOf(attemptsAt)).toBe(attempts);
});

test('docs/reference/schedule.md has the same lives', () => {
  const page = readFileSync(join(ROOT, 'docs/reference/schedule.md'), 'utf8');
  const rows = page
    .split('\n')
    .filter((line) => line.startsWith('| ') && !/^\| (-|delays)/.test(line));
  const cells = rows.map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
  expect(cells).toEqual(LIVES);
});

describe('any delivery that fails at every attempt', () => {
  const tiersMs = fc.array(fc.integer({ min: 50, max: 5_000 }), { minLength: 1, maxLength: 6 });
  const delaysMs = fc.option(
    fc.array(fc.integer({ min: 25, max: 20_000 }), { minLength: 1, maxLength: 4 }),
    { nil: undefined },
  );
  const askedMs = fc.option(fc.integer({ min: 0, max: 2_000_000 }), { nil: undefined });
  const given = fc.record({
    tiersMs,
    delaysMs,
    askedMs,
    windowMs: fc.integer({ min: 1, max: 60_000 }),
    lateMs: fc.integer({ min: 0, max: 10 }),
  });

  test('waits for its delay and for what its endpoint asks, except before its last attempt', () => {
    fc.assert(
      fc.property(given, (life) => {
        const { attemptsAt } = live(life);
        const plan = life.delaysMs ?? life.tiersMs;
        const asked = Math.min(life.askedMs ?? 0, LONGEST_ASKED_MS);
        attemptsAt.slice(1, -1).forEach((at, i) => {
          const planned = plan[Math.min(i, plan.length - 1)]!;
          expect(at - attemptsAt[i]!).toBeGreaterThanOrEqual(Math.max(planned, asked));
        });
      }),
      { numRuns: cases(50) },
    );
  });

  test('has its last attempt within one shortest tier of the end of its window', () => {
    fc.assert(
      fc.property(given, (life) => {
        const { attemptsAt, hops } = live(life);
        const [last, shortest] = [attemptsAt.at(-1)!, Math.min(...life.tiersMs)];
        const end = lastReturnAt(life.windowMs, life.windowMs);
        expect(last).toBeLessThanOrEqual(end + life.lateMs);
        expect(last + shortest).toBeGreaterThan(end);
        expect(hops).toBeLessThanOrEqual(life.windowMs / shortest);
      }),
      { numRuns: cases(50) },
    );
  });

  test('waits for less than one shortest tier, and the lateness of its tiers, too long', () => {
    fc.assert(
      fc.property(given, (life) => {
        const { attemptsAt } = live(life);
        const plan = life.delaysMs ?? life.tiersMs;
        const asked = Math.min(life.askedMs ?? 0, LONGEST_ASKED_MS);
        const shortest = Math.min(...life.tiersMs);
        attemptsAt.slice(1).forEach((at, i) => {
          const wait = Math.max(plan[Math.min(i, plan.length - 1)]!, asked);
          const gap = at - attemptsAt[i]!;
          expect(gap).toBeLessThan(
            effectiveDelay(wait, life.tiersMs) + shortest + life.lateMs * (gap / shortest + 1),
          );
        });
      }),
      { numRuns: cases(50) },
    );
  });
});
