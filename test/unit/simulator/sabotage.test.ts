import {
  answers,
  badFrom,
  failsSometimes,
  hangs,
  refuses,
  throttles,
  works,
} from '../../../tools/simulator/endpoint';
import { DELETION_INVARIANTS } from '../../../tools/harness/deleted-users';
import { STANDING_INVARIANTS } from '../../../tools/harness/standing-invariants';
import { keeps } from '../../../tools/simulator/scenario';
import { quiet } from '../../../tools/simulator/scenarios/quiet';
import {
  settingsOf,
  World,
  type DestinationSpec,
  type WorldSpec,
} from '../../../tools/simulator/world';
import { Circuit } from '../../../services/delivery/lanes/circuit';
import type * as decisions from '../../../services/delivery/decisions/admission';
import { isOwedOneTry } from '../../../services/delivery/decisions/admission';
import { DisabledUrls } from '../../../services/delivery/destinations/disabled-urls';
import { Lane } from '../../../services/delivery/lanes/lane';
import { LaneQueue } from '../../../services/delivery/lanes/queue';
import { ConcurrencyLimit } from '../../../services/delivery/lanes/concurrency-limit';
import { SocketShares } from '../../../services/delivery/lanes/socket-shares';
import { type Success, SuccessRows } from '../../../services/delivery/success-rows';
import type * as minuteCounts from '../../../services/control/history/minute-counts';
import { countsOf } from '../../../services/control/history/minute-counts';
import { Requeuer } from '../../../services/retry/requeuer';
import { Recalls } from '../../../services/retry/recalls';
import { TierPositions } from '../../../services/retry/tier-positions';
import { type DispatchResult, type InRecord, type OpenRecord } from '../../../shared/kafka/port';
import { type RecallAction } from '../../../shared/model/recall';
import type * as responses from '../../../shared/model/classify-response';
import { retryAfterMs } from '../../../shared/model/classify-response';
import type * as dedup from '../../../shared/model/dedup-window';
import { createStepDedup } from '../../../shared/model/dedup-window';
import { DeletedUsers } from '../../../shared/model/deletion';
import { ReadDeletions } from '../../../tools/simulator/deletions';

/**
 * Runs the production code with one rule removed at a time: the checks of the simulation must
 * notice. A rule whose removal breaks nothing here would be an unchecked promise.
 */

function world(
  urls: DestinationSpec['urls'],
  more: Partial<DestinationSpec> & Partial<WorldSpec> = {},
): WorldSpec {
  const { perSecond = 0, bursts = [], ...spec } = more;
  const destinations = urls.map((url, i) => ({
    id: `d${String(i)}`,
    label: 'all',
    urls: [url],
    perSecond,
    bursts,
  }));
  const settings = settingsOf({ windowMs: 30_000, tiersMs: [1_000, 10_000], ...spec.settings });
  const basis = { seed: 1, trafficMs: 5_000, latestMs: 60_000, history: true };
  return { ...basis, destinations, ...spec, settings };
}

async function broken(spec: WorldSpec): Promise<string[]> {
  return Object.keys((await new World(spec).run()).violations);
}

const burst = (count: number) => [{ atMs: 10, count }];
/**
 * The number of the tier of ten seconds, after `webhooks`, `webhooks.due` and those of 1 s and 3 s.
 */
const IN_TEN_SECONDS = 4;
/** Down for 3 s, with a backlog at its return. */
const recovering = world([badFrom(0, 3_000, refuses, works(5, 200))], {
  perSecond: 60,
  trafficMs: 6_000,
});

type Func = (...args: never[]) => unknown;

const getter = (prototype: object, name: string, value: number) => () =>
  void jest.spyOn(prototype as Record<string, number>, name, 'get').mockReturnValue(value);
const method = (prototype: object, name: string, instead: Func) => () =>
  void jest.spyOn(prototype as Record<string, Func>, name).mockImplementation(instead);

type Decide = typeof decisions;
const honest = () =>
  jest.requireActual<Decide>('../../../services/delivery/decisions/admission').isOwedOneTry;
jest.mock('../../../services/delivery/decisions/admission', () => ({
  ...jest.requireActual<Decide>('../../../services/delivery/decisions/admission'),
  isOwedOneTry: jest.fn(),
}));
type Responses = typeof responses;
const honestWait = () =>
  jest.requireActual<Responses>('../../../shared/model/classify-response').retryAfterMs;
jest.mock('../../../shared/model/classify-response', () => ({
  ...jest.requireActual<Responses>('../../../shared/model/classify-response'),
  retryAfterMs: jest.fn(),
}));
type Dedup = typeof dedup;
const honestDedup = () =>
  jest.requireActual<Dedup>('../../../shared/model/dedup-window').createStepDedup;
jest.mock('../../../shared/model/dedup-window', () => ({
  ...jest.requireActual<Dedup>('../../../shared/model/dedup-window'),
  createStepDedup: jest.fn(),
}));
type Counts = typeof minuteCounts;
const honestCounts = () =>
  jest.requireActual<Counts>('../../../services/control/history/minute-counts').countsOf;
jest.mock('../../../services/control/history/minute-counts', () => ({
  ...jest.requireActual<Counts>('../../../services/control/history/minute-counts'),
  countsOf: jest.fn(),
}));
beforeEach(() => {
  jest.mocked(countsOf).mockImplementation(honestCounts());
  jest.mocked(isOwedOneTry).mockImplementation(honest());
  jest.mocked(retryAfterMs).mockImplementation(honestWait());
  jest.mocked(createStepDedup).mockImplementation(honestDedup());
});
afterEach(() => jest.restoreAllMocks());

/** Users are deleted while their calls wait for the next attempt, and while requests are open. */
const deletions = Array.from({ length: 8 }, (_, user) => ({ user, atMs: 4_000 + 300 * user }));
const forgetting = world([failsSometimes(0.6, 3_000), answers(2_500)], {
  perSecond: 20,
  trafficMs: 8_000,
  users: 8,
  deletions,
});

type Case = [promise: string, sabotage: () => void, WorldSpec];
const sockets = world([hangs, hangs, answers(50)], {
  bursts: burst(60),
  settings: { pool: { total: 20, reserve: 4 } },
});

const CASES: Case[] = [
  [
    'a lane above its ceiling',
    getter(ConcurrencyLimit.prototype, 'limit', 1_000),
    world([answers(500)], { bursts: burst(600) }),
  ],
  ['a lane above its share', getter(SocketShares.prototype, 'share', 1_000), sockets],
  ['more sockets than there are', method(SocketShares.prototype, 'take', () => true), sockets],
  [
    'retries before first attempts',
    method(LaneQueue.prototype, 'turn', () => 'due'),
    world([failsSometimes(0.5, 300)], { perSecond: 120, trafficMs: 4_000 }),
  ],
  ['more than one probe at a time', method(Circuit.prototype, 'mayProbe', () => true), recovering],
  ['above the ramp', getter(Circuit.prototype, 'limit', Infinity), recovering],
  [
    // The copy in the tier comes back although its delivery left early.
    'read what was not stored',
    method(Recalls.prototype, 'check', () => 'return'),
    world([badFrom(0, 12_000, refuses, works(20, 50))], { perSecond: 40, trafficMs: 14_000 }),
  ],
  [
    'neither ended nor gone on',
    method(Requeuer.prototype, 'onRecord', () => 'busy'),
    world([failsSometimes(0.5, 20)], { perSecond: 5 }),
  ],
  [
    'done before its outcome was written',
    method(Requeuer.prototype, 'onRecord', drop),
    world([failsSometimes(0.5, 20)], { perSecond: 5 }),
  ],
  [
    'done before its outcome was written',
    method(SuccessRows.prototype, 'add', ({ inHand }: Success) => inHand.record.done()),
    world([answers(50)], { perSecond: 5 }),
  ],
  [
    'neither ended nor gone on',
    method(SuccessRows.prototype, 'add', () => undefined),
    world([answers(50)], { perSecond: 5 }),
  ],
  [
    // The oldest first attempts wait longest: without the ends of windows they are sent however
    // late.
    'sent after its window',
    () => void jest.mocked(isOwedOneTry).mockImplementation(() => true),
    world([works(2, 500)], { perSecond: 30, trafficMs: 20_000, settings: { windowMs: 20_000 } }),
  ],
  [
    'a wait beyond its window',
    holdReturns,
    world([failsSometimes(0.9, 20)], { perSecond: 5, settings: { windowMs: 20_000 } }),
  ],
  [
    'attempted before the time asked for',
    () => void jest.mocked(retryAfterMs).mockImplementation(() => undefined),
    world([throttles(2, 5)], { perSecond: 5 }),
  ],
  [
    'attempted before its time',
    returnAtOnce,
    world([failsSometimes(0.5, 20)], { perSecond: 5, trafficMs: 3_000 }),
  ],
  [
    'two attempts at the same time',
    () => {
      method(Recalls.prototype, 'check', () => 'return')();
      jest.mocked(createStepDedup).mockImplementation(() => ({
        isDuplicateStep: () => false,
        forget: () => undefined,
      }));
    },
    // Sent now, a moment before the tier of ten seconds returns them.
    world([badFrom(0, 3_000, answers(20, 503), answers(4_000))], {
      bursts: burst(20),
      acts: [{ kind: 'send_now', destination: 'd0', all: true, atMs: 9_000 }],
    }),
  ],
  [
    // The process that got the 410 goes on.
    'sent to a URL that is off',
    method(DisabledUrls.prototype, 'add', () => false),
    world([badFrom(1_000, Infinity, answers(20, 410), answers(20))], { perSecond: 20 }),
  ],
  [
    'attempted after its cancellation',
    () => ignoreRecalls('cancel'),
    world([answers(20, 503)], {
      bursts: burst(20),
      acts: [{ kind: 'cancel', destination: 'd0', all: true, atMs: 3_000 }],
    }),
  ],
  [
    // After a cut, retry takes the records in the places of returned ones for returned.
    'attempted after its cancellation',
    keepPositions,
    world([answers(20, 503)], {
      bursts: [...burst(100), { atMs: 15_000, count: 20 }],
      settings: { windowMs: 60_000 },
      acts: [
        ...Array.from(
          { length: 12 },
          (_, partition) =>
            ({ kind: 'cut', topic: IN_TEN_SECONDS, partition, most: 100, atMs: 14_900 }) as const,
        ),
        { kind: 'cancel', destination: 'd0', all: true, atMs: 17_000 },
      ],
    }),
  ],
  [
    'waits for a circuit that has closed',
    () => ignoreRecalls('recovered'),
    world([badFrom(0, 65_000, refuses, answers(50))], {
      perSecond: 5,
      trafficMs: 75_000,
      settings: { tiersMs: [1_000, 10_000, 60_000], windowMs: 200_000 },
    }),
  ],
  [
    'an older call after the delete of its user',
    method(DeletedUsers.prototype, 'covers', () => false),
    forgetting,
  ],
  [
    // The process does not know the deletions, and sends nevertheless.
    'an older call two seconds after the deletion of its user',
    getter(ReadDeletions.prototype, 'ageMs', 0),
    { ...forgetting, deletionsAway: { fromMs: 3_000, toMs: 12_000 } },
  ],
  [
    'a delete beside an older call of its user',
    method(Lane.prototype, 'isSending', () => false),
    forgetting,
  ],
  [
    // Control counts events in place of changes.
    'delivered, and not counted so',
    () =>
      void jest.mocked(countsOf).mockImplementation((_, after) => honestCounts()(undefined, after)),
    world([failsSometimes(0.5, 20)], { perSecond: 5 }),
  ],
  [
    'a row of the history twice',
    forgetAcceptance,
    world([failsSometimes(0.5, 20)], { perSecond: 5 }),
  ],
];

test('an endpoint without calls is probed while deliveries wait for it', async () => {
  const missed = async () => {
    const { findings } = await quiet.play({ seed: 1, short: true, note: () => undefined });
    return findings.filter((finding) => !keeps(finding)).map(({ what }) => what);
  };
  expect(await missed()).toEqual([]);
  ignoreRecalls('probe');
  expect(await missed()).toEqual(['longest time without a request, first quarter of an hour']);
});

test.each(CASES)('%s', async (promise, sabotage, spec) => {
  expect(await broken(spec)).toEqual([]);
  sabotage();
  expect(await broken(spec)).toContain(promise);
});

test('each standing invariant has a sabotage', () => {
  const checked = CASES.map(([promise]) => promise);
  expect(checked).toEqual(
    expect.arrayContaining([
      ...STANDING_INVARIANTS,
      ...DELETION_INVARIANTS,
      'neither ended nor gone on',
      'delivered, and not counted so',
      'a row of the history twice',
    ]),
  );
});

function drop(record: OpenRecord): DispatchResult {
  record.done();
  return 'accepted';
}

/** Retry returns everything at once, and delivery does not know when it was due. */
function returnAtOnce(): void {
  const real = Requeuer.prototype.onRecord;
  method(Requeuer.prototype, 'onRecord', function (this: Requeuer, record: OpenRecord) {
    Object.assign(record, { headers: { ...record.headers, due: '1', 'not-before': undefined } });
    return real.call(this, record);
  })();
}

function ignoreRecalls(action: RecallAction): void {
  const real = Recalls.prototype.onRecall;
  method(Recalls.prototype, 'onRecall', function (this: Recalls, record: InRecord) {
    if (!String(record.value).includes(`"action":"${action}"`)) real.call(this, record);
  })();
}

/** The position of a partition never goes back. */
function keepPositions(): void {
  const real = TierPositions.prototype.next;
  const highest = new Map<string, number>();
  method(
    TierPositions.prototype,
    'next',
    function (this: TierPositions, topic: string, partition: number) {
      const place = `${topic}/${String(partition)}`;
      const next = real.call(this, topic, partition);
      if (next !== undefined) highest.set(place, Math.max(next, highest.get(place) ?? 0));
      return next === undefined ? undefined : highest.get(place);
    },
  )();
}

/** A delivery that returns seems to be accepted at another time. */
function forgetAcceptance(): void {
  const real = Requeuer.prototype.onRecord;
  method(Requeuer.prototype, 'onRecord', function (this: Requeuer, record: OpenRecord) {
    const acceptedAt = String(Number(record.headers['accepted-at']) + 1);
    const headers = { ...record.headers, 'accepted-at': acceptedAt };
    return real.call(this, Object.assign(record, { headers }));
  })();
}

/** The retry service returns everything one minute late. */
function holdReturns(): void {
  const real = Requeuer.prototype.onRecord;
  method(Requeuer.prototype, 'onRecord', function (this: Requeuer, record: OpenRecord) {
    const due = String(Number(record.headers.due) + 60_000);
    return real.call(this, Object.assign(record, { headers: { ...record.headers, due } }));
  })();
}
