import { randomBytes } from 'node:crypto';
import { defined } from '../../../shared/collections/defined';
import { createEncryptor } from '../../../shared/config/encryption';
import { type Encrypted } from '../../../shared/model/config';
import { secretFields } from '../../../shared/model/secret-fields';
import { type ConfigView } from '../../../shared/config/types';
import { readEvents } from '../../../shared/model/attempt-rows';
import { decodeDelivery, encodeDelivery, type Delivery } from '../../../shared/model/delivery';
import { type OpenRecord, type OutRecord, type DispatchResult } from '../../../shared/kafka/port';
import { ATTEMPTS, DEAD } from '../../../shared/kafka/topics';
import { AppError } from '../../../shared/runtime/errors';
import { createLog } from '../../../shared/telemetry/log';
import { fakeDeletions, fakeProgress, recordingProducer } from '../../support/fakes';
import { assemble } from '../../../services/delivery/assemble';
import { type Deliverer } from '../../../services/delivery/deliverer';
import { laneOptions } from '../../../services/delivery/tuning';
import { type LaneRegistry } from '../../../services/delivery/lanes/registry';
import { type SendRequest, type SendResult } from '../../../services/delivery/http/exchange';
import { Destinations } from '../../../services/delivery/destinations/destinations';
import {
  type OpenDestination,
  type Endpoint,
} from '../../../services/delivery/destinations/endpoint';
import { systemClock } from '../../../services/delivery/clock/clock';
import { aDelivery, aDestination, anEndpoint } from '../../support/factories';
import { FORMAT_HEADER } from '../../../shared/model/record-format';

/** Stories of deliveries and endpoints, with a scripted sender and a clock that the story moves. */

const TIERS = [10_000, 60_000, 300_000, 900_000];
const START = Date.parse('2026-11-21T10:00:00.000Z');
const WINDOW_MS = 14_400_000;
/** failures in a row that open a circuit */
const TO_OPEN = laneOptions(TIERS).circuit.failuresToOpen;

type Answers = (
  request: SendRequest,
) => number | 'timeout' | { status: number; retryAfter: string } | { status: number; asks: string };

class Story {
  readonly producer = recordingProducer();
  /** records given to the producer for diverted deliveries */
  readonly diverted: OutRecord[] = [];
  readonly sent: { path: string; at: number; headers: readonly string[] }[] = [];
  readonly done: number[] = [];
  readonly released: number[] = [];
  /** number of records that can still be handed back to the next owner */
  releasable = Infinity;
  leaving = false;
  inDoubt = false;
  readonly lanes: LaneRegistry;
  readonly deliverer: Deliverer;
  answers: Answers = () => 200;
  /** requests that wait for their response */
  readonly open: {
    path: string;
    isPermitted: () => boolean;
    answer: (result: SendResult) => void;
  }[] = [];
  /** false: responses come immediately; true: when the story answers them */
  patient = false;
  /** how far the brokers' clock is ahead of the time on which processes agree, ms */
  brokersAheadMs = 0;
  destination: OpenDestination;
  #offset = 0;
  /** known version of the destination */
  version = 1;
  readonly config = fakeProgress();
  readonly deletions = fakeDeletions();

  constructor(paths: string[], change: Partial<OpenDestination> = {}, maxBytes = 1e9) {
    this.destination = {
      enabled: true,
      paused: false,
      secrets: undefined,
      endpoints: paths.map(endpoint),
      ...change,
    };
    const { deliverer, lanes } = assemble({
      config: this.config,
      deletions: this.deletions,
      destinations: {
        lookup: () => ({ kind: 'open', version: this.version, destination: this.destination }),
      },
      sender: { send: (request, done) => this.#send(request, done) },
      producer: this.producer,
      divertProducer: { ...this.producer, send: (records) => this.#append(records) },
      clock: {
        now: () => Date.now() - START,
        saturated: false,
        usesWholeCore: false,
        stalledMs: 0,
        run: () => () => undefined,
      },
      time: {
        ...systemClock,
        agreedMs: () => Date.now(),
        brokersMs: () => this.#brokersMs(),
      },
      log: createLog('test', 'silent'),
      tiersMs: TIERS,
      windowMs: WINDOW_MS,
      pool: { total: 100, reserve: 10 },
      limits: { maxBytes, maxUnacknowledgedBytes: 1e9 },
      onRoom: () => undefined,
      onFatal: (error) => {
        throw error;
      },
    });
    this.deliverer = deliverer;
    this.lanes = lanes;
  }

  #brokersMs(): number {
    return Date.now() + this.brokersAheadMs;
  }

  /** Takes a record. @returns when all of its immediate effects have happened */
  async take(
    change: Partial<Delivery> = {},
    from: Parameters<Story['offer']>[1] = {},
  ): Promise<void> {
    expect(this.offer(change, from)).toBe('accepted');
    await settle();
  }

  offer(
    change: Partial<Delivery> = {},
    { topic = 'webhooks', key = 'dst:1', format = '' } = {},
  ): DispatchResult {
    const offset = this.#offset++;
    const leaving = () => this.leaving;
    const inDoubt = () => this.inDoubt;
    const appendedMs = this.#brokersMs();
    const headers = {
      ...encodeDelivery(toDst({ id: `dlv_${String(offset)}`, ...change })),
      ...defined({ format: format !== '' ? format : undefined }),
    };
    // As the consumer's own records: only until they are accepted.
    let isAccepted = false;
    const part = <T>(value: T): T => {
      if (isAccepted) throw new Error('a record is read after it was accepted');
      return value;
    };
    const record: OpenRecord = {
      topic,
      partition: 0,
      offset,
      epoch: 0,
      get timestampMs() {
        return part(appendedMs);
      },
      get key() {
        return part(Buffer.from(key));
      },
      get value() {
        return part(Buffer.from('{}'));
      },
      get headers() {
        return part(headers);
      },
      done: () => this.done.push(offset),
      get isRevoking() {
        return leaving();
      },
      get isInDoubt() {
        return inDoubt();
      },
      defer: () => undefined,
      handBack: () => this.releasable-- > 0 && this.released.push(offset) > 0,
    };
    const result = this.deliverer.onRecord(record);
    isAccepted = result === 'accepted';
    return result;
  }

  async takeSome(count: number, change: Partial<Delivery> = {}): Promise<void> {
    for (let i = 0; i < count; i++) await this.take(change);
  }

  /** Advances the time of people and of lanes. */
  async pass(ms: number): Promise<void> {
    await jest.advanceTimersByTimeAsync(ms);
  }

  /** Returns the next records of deliveries, oldest first: tier and reason. */
  waits(): { tier: string; reason: string | undefined; attempt: number }[] {
    return this.producer.appends.flat().flatMap(({ topic, headers }) => {
      const decoded = decodeDelivery(headers ?? {});
      if (decoded.kind !== 'delivery') return [];
      const { reason, attempt } = decoded.delivery;
      return [{ tier: topic.replace('webhooks.', ''), reason, attempt }];
    });
  }

  events(kind: string): Record<string, unknown>[] {
    return this.producer.values('attempts').filter((event) => event.kind === kind);
  }

  #append(records: OutRecord[]): Promise<void> {
    this.diverted.push(...records);
    return this.producer.send(records);
  }

  #send({ path, ...rest }: SendRequest, done: (result: SendResult) => void): void {
    this.sent.push({ path, at: Date.now() - START, headers: rest.headers });
    const said = this.answers({ path, ...rest });
    const isPermitted = rest.isPermitted ?? (() => true);
    if (this.patient) this.open.push({ path, isPermitted, answer: done });
    else queueMicrotask(() => done(resultOf(said)));
  }

  stop(): void {
    this.lanes.stop();
  }
}

/** Time for which successes of first attempts are gathered into one record, ms. */
const GATHER_MS = 100;

function endpoint(path: string): Endpoint {
  return anEndpoint({
    id: `whk${path}`,
    hash: `hash${path}`,
    lane: `dst/hash${path}`,
    path,
  });
}

/**
 * Returns a destination as delivery resolves it from a `config` entry.
 * @param headers static headers of each webhook; all have the same URL
 */
function resolved(...headers: Record<string, string>[]): OpenDestination {
  const encryptor = createEncryptor([randomBytes(32)]);
  const webhooks = headers.map((own, i) => {
    const id = `whk/${String(i)}`;
    const encrypted = Object.entries(own).map(([name, value]) => [
      name,
      encryptor.encrypt(value, secretFields.header('dst', id, name)),
    ]);
    return {
      id,
      url: encryptor.encrypt('https://a.example/a', secretFields.url('dst', id)),
      origin: 'https://a.example',
      headers: Object.fromEntries(encrypted) as Record<string, Encrypted>,
    };
  });
  const data = aDestination({ id: 'dst', webhooks });
  const config = {
    destination: () => ({ version: 1, data }),
    isUnreadable: () => false,
  } as unknown as ConfigView;
  const lookup = new Destinations(config, encryptor, createLog('test', 'silent')).lookup('dst');
  if (lookup.kind !== 'open') throw new Error(`the destination is ${lookup.kind}`);
  return lookup.destination;
}

function toDst(change: Partial<Delivery>): Delivery {
  const times = { acceptedAt: Date.now(), expiresAt: Date.now() + WINDOW_MS };
  return aDelivery({ destinationId: 'dst', ...times, ...change });
}

function resultOf(said: ReturnType<Answers>): SendResult {
  if (said === 'timeout') {
    return {
      ok: false,
      error: { code: 'timeout', phase: 'headers', message: 'late' },
      durationMs: 5_000,
    };
  }
  const headers: Record<string, string> = {};
  if (typeof said === 'object' && 'retryAfter' in said) headers['retry-after'] = said.retryAfter;
  if (typeof said === 'object' && 'asks' in said) headers['webhook-delivery'] = said.asks;
  const status = typeof said === 'number' ? said : said.status;
  return {
    ok: true,
    response: { status, headers, body: Buffer.alloc(0), truncated: false },
    durationMs: 1,
  };
}

function range(from: number, until: number): number[] {
  return Array.from({ length: until - from }, (_, i) => from + i);
}

async function settle(): Promise<void> {
  for (let i = 0; i < 10; i++) await Promise.resolve();
}

let story: Story;
beforeEach(() => {
  jest.useFakeTimers({
    now: START,
    doNotFake: ['queueMicrotask', 'nextTick', 'setImmediate', 'performance'],
  });
});
afterEach(() => {
  story.stop();
  jest.useRealTimers();
});

/** Returns the times of a delivery whose window has just ended. */
const late = () => ({ acceptedAt: Date.now() - WINDOW_MS - 1, expiresAt: Date.now() - 1 });

test('a delivery of a newer format ends the process, and its record stays open', () => {
  story = new Story(['/a']);
  expect(() => story.offer({}, { format: '9' })).toThrow(
    /topic webhooks .*partition 0, offset 0.*format 9.*Upgrade/,
  );
  expect([story.sent, story.done]).toEqual([[], []]);
});

test('while config cannot be read, a destination that ends deliveries leaves room', async () => {
  story = new Story(['/a'], {}, 16 * 10 * 4_200);
  story.destination = { ...story.destination, enabled: false };
  await story.takeSome(100);
  expect([story.sent, story.events('cancelled')]).toEqual([[], []]);
  const reason = 'destination_unreadable';
  expect(story.waits()).toEqual(Array(90).fill({ tier: 'retry.10s', reason, attempt: 0 }));
  story.config.readToEnd();
  await settle();
  expect(story.events('cancelled')).toHaveLength(10);
  await story.takeSome(10);
  expect(story.waits()).toHaveLength(90);
});

test.each<[string, Partial<Delivery>]>([
  ['`delete`s that are too early', { type: 'delete', userId: 'kim' }],
  ['calls of users while deletions cannot be read', { userId: 'kim', acceptedAt: START - 10_000 }],
])('many %s leave room, and wait for no config', async (_, change) => {
  story = new Story(['/a'], {}, 16 * 10 * 4_200);
  story.deletions.ageMs = Infinity;
  await story.takeSome(15, change);
  expect(story.sent).toEqual([]);
  expect(story.waits()).toEqual(
    Array(5).fill({ tier: 'retry.10s', reason: 'handed_over', attempt: 0 }),
  );
});

test('a static User-Agent replaces that of Waypost, and is sent once', async () => {
  story = new Story([]);
  story.destination = resolved({ 'User-Agent': 'shop-gateway/2', 'X-Team': 'a' });
  await story.take();
  const headers = story.sent[0]!.headers.map((text) => text.toLowerCase());
  expect(headers.filter((text) => text === 'user-agent')).toHaveLength(1);
  expect(headers[headers.indexOf('user-agent') + 1]).toBe('shop-gateway/2');
  expect(headers).toContain('x-team');
});

test("a delivery whose destination stores a Waypost header is sent with Waypost's", async () => {
  story = new Story([]);
  story.destination = resolved({ TraceParent: 'theirs', 'X-Team': 'a b' });
  await story.take();
  await story.pass(GATHER_MS);
  expect(story.done).toEqual([0]);
  const { headers } = story.sent[0]!;
  expect(headers.filter((_, i) => headers[i - (i % 2)]!.toLowerCase() === 'traceparent')).toEqual([
    'traceparent',
    expect.stringMatching(/^00-/),
  ]);
  expect(headers.slice(-2)).toEqual(['X-Team', 'a b']);
});

test('of two webhooks with one URL, one that rejects a message is not asked again', async () => {
  story = new Story([]);
  story.destination = resolved({ 'X-Team': 'rejects' }, { 'X-Team': 'fails' });
  const isOf =
    (team: string) =>
    ({ headers }: { headers: readonly string[] }) =>
      headers.includes(team);
  story.answers = (request) => (isOf('rejects')(request) ? 400 : 503);
  await story.take();
  const next = story.producer.appends.flat().flatMap(({ headers }) => {
    const decoded = decodeDelivery(headers ?? {});
    return decoded.kind === 'delivery' ? decoded.delivery : [];
  });
  expect(next).toMatchObject([{ reason: 'backoff', attempt: 1 }]);
  const { excludedUrls, hop } = next[0]!;
  story.answers = () => 200;
  await story.take({ excludedUrls, attempt: 1, hop }, { topic: 'webhooks.due' });
  expect([story.sent.filter(isOf('rejects')), story.sent.filter(isOf('fails'))]).toMatchObject([
    [{ path: '/a' }],
    [{ path: '/a' }, { path: '/a' }],
  ]);
  expect(story.events('attempt').map(({ outcome }) => outcome)).toEqual(['retry', 'delivered']);
});

describe('a failing endpoint', () => {
  test('failures in a row open its circuit and park the rest in ever longer tiers', async () => {
    story = new Story(['/a']);
    story.answers = () => 500;
    await story.takeSome(TO_OPEN + 1);
    expect(story.sent).toHaveLength(TO_OPEN);
    expect(story.events('circuit')).toEqual([
      expect.objectContaining({ destination: 'dst', url: 'whk/a', state: 'open', why: 'failed' }),
    ]);
    expect(story.waits().at(-1)).toEqual({ tier: 'retry.10s', reason: 'circuit_open', attempt: 0 });
    for (const [ms, tier] of [
      [70_000, 'retry.2m'],
      [170_000, 'retry.5m'],
      [600_000, 'retry.15m'],
    ] as const) {
      await story.pass(ms);
      // The first delivery is the probe.
      await story.takeSome(2);
      expect(story.waits().at(-2)).toMatchObject({ reason: 'backoff', attempt: 1 });
      expect(story.waits().at(-1)).toEqual({ tier, reason: 'circuit_open', attempt: 0 });
    }
    expect(story.sent).toHaveLength(TO_OPEN + 3);
    expect(story.done).toHaveLength(TO_OPEN + 7);
  });

  test('deliveries that wait in its lane are parked when the circuit opens', async () => {
    story = new Story(['/a']);
    story.patient = true;
    await story.takeSome(30);
    expect([story.open.length, story.done.length]).toEqual([20, 0]);
    for (const { answer } of story.open.slice(0, TO_OPEN)) answer(resultOf('timeout'));
    // Each tick parks some.
    await story.pass(100);
    const parked = story.waits().filter(({ reason }) => reason === 'circuit_open');
    expect(parked).toEqual(
      Array(parked.length).fill({ tier: 'retry.10s', reason: 'circuit_open', attempt: 0 }),
    );
    expect(parked.length).toBeGreaterThan(0);
    // Deliveries that were tried do not take the slow producer, since a crash would repeat their
    // attempt.
    const diverted = story.diverted.filter(({ topic }) => topic !== 'attempts');
    expect(diverted.map(({ headers }) => headers?.reason)).toEqual(
      Array(parked.length).fill('circuit_open'),
    );
    expect(story.done.length).toBe(TO_OPEN + parked.length);
    expect(story.open.length + parked.length).toBe(30);
  });

  test('deliveries are sent again once a probe succeeds', async () => {
    story = new Story(['/a']);
    story.answers = () => 503;
    await story.takeSome(TO_OPEN + 1);
    story.answers = () => 200;
    await story.pass(1_500);
    await story.takeSome(10);
    expect(story.sent).toHaveLength(TO_OPEN + 10);
    expect(story.events('circuit').map(({ state }) => state)).toEqual(['open', 'closed']);
  });

  test('a failing URL of five is left out and does not delay the others', async () => {
    story = new Story(['/1', '/2', '/3', '/4', '/5']);
    // Failures and rejections of all URLs show that each was asked: a 2xx would settle the attempt.
    story.answers = ({ path }) => (path === '/3' ? 'timeout' : 404);
    await story.takeSome(TO_OPEN);
    story.sent.length = 0;
    story.answers = ({ path }) => (path === '/3' ? 'timeout' : 200);
    await story.takeSome(3);
    expect(story.sent.map(({ path }) => path).sort()).toEqual([
      ...'/1 /1 /1 /2 /2 /2 /4 /4 /4 /5 /5 /5'.split(' '),
    ]);
    expect(
      story
        .events('attempt')
        .slice(-3)
        .every(({ outcome }) => outcome === 'delivered'),
    ).toBe(true);
  });

  test('a delivered attempt names the URLs that it did not call', async () => {
    story = new Story(['/good', '/bad']);
    story.answers = ({ path }) => (path === '/bad' ? 'timeout' : 404);
    await story.takeSome(TO_OPEN);
    story.answers = () => 200;
    await story.take();
    await story.take({ excludedUrls: ['hash/bad'], attempt: 1, hop: 1 });
    const notCalled = ['whk/bad'];
    expect(story.events('attempt').slice(-2)).toMatchObject([
      { outcome: 'delivered', notCalled },
      { outcome: 'delivered', notCalled },
    ]);
    expect(story.events('attempt').slice(0, TO_OPEN)).not.toContainEqual(
      expect.objectContaining({ notCalled }),
    );
  });

  test('a URL left out of an attempt that all others reject keeps the delivery alive', async () => {
    story = new Story(['/good', '/bad']);
    story.answers = ({ path }) => (path === '/bad' ? 500 : 404);
    await story.takeSome(TO_OPEN);
    await story.take();
    expect(story.waits().at(-1)).toEqual({ tier: 'retry.10s', reason: 'backoff', attempt: 1 });
    expect(story.sent.filter(({ path }) => path === '/bad')).toHaveLength(TO_OPEN);
  });

  test('a delivery held by its circuit is dead after its window, despite recovery', async () => {
    story = new Story(['/a']);
    await story.take({ ...late(), reason: 'circuit_open', hop: 9 });
    story.config.readToEnd();
    expect(story.sent).toEqual([]);
    expect(story.waits()).toEqual([{ tier: 'dead', reason: 'circuit_open', attempt: 0 }]);
    expect(story.events('dead')).toEqual([
      expect.objectContaining({ reason: 'circuit_open', n: 0 }),
    ]);
  });

  test('a delivery that waited for Waypost alone is tried once after its window', async () => {
    story = new Story(['/a']);
    story.answers = () => 500;
    await story.take(late());
    expect(story.sent).toHaveLength(1);
    expect(story.waits()).toEqual([{ tier: 'dead', reason: 'window_closed', attempt: 1 }]);
  });

  test('a delivery that only Waypost held waits for a circuit for a second window', async () => {
    story = new Story(['/a']);
    story.answers = () => 500;
    await story.takeSome(TO_OPEN);
    await story.take(late());
    expect(story.waits().at(-1)).toMatchObject({
      tier: 'retry.10s',
      reason: 'circuit_open',
      attempt: 0,
    });
    await story.take({ ...late(), reason: 'circuit_open', final: true, hop: 1 });
    expect(story.waits().at(-1)).toMatchObject({
      tier: 'retry.10s',
      reason: 'circuit_open',
      attempt: 0,
    });
    await story.take({
      ...late(),
      expiresAt: Date.now() - WINDOW_MS,
      reason: 'circuit_open',
      final: true,
      hop: 9,
    });
    expect(story.waits().at(-1)).toMatchObject({
      tier: 'dead',
      reason: 'circuit_open',
      attempt: 0,
    });
  });

  test('a Retry-After holds no delivery back at the end of its window', async () => {
    story = new Story(['/a']);
    story.answers = () => ({ status: 503, retryAfter: '86400' });
    await story.take();
    await story.take({ hop: 3, reason: 'retry_after' });
    expect(story.sent).toHaveLength(1);
    const left = { expiresAt: Date.now() + 9_000, reason: 'retry_after', hop: 9 };
    for (const attempt of [0, 5]) await story.take({ ...left, attempt });
    expect(story.sent).toHaveLength(3);
    expect(story.waits().slice(2)).toEqual([
      { tier: 'dead', reason: 'window_closed', attempt: 1 },
      { tier: 'dead', reason: 'window_closed', attempt: 6 },
    ]);
  });

  test('a delivery whose window ends while it waits for its rate is not sent', async () => {
    story = new Story(['/a']);
    story.destination = {
      ...story.destination,
      endpoints: [{ ...endpoint('/a'), maxPerSecond: 1 }],
    };
    await story.take();
    await story.take({ expiresAt: Date.now() + 500 });
    await story.pass(1_500);
    expect(story.sent).toHaveLength(1);
    expect(story.waits()).toEqual([{ tier: 'dead', reason: 'rate_limited', attempt: 0 }]);
  });

  test('timeouts during a standstill of this process open no circuit', async () => {
    story = new Story(['/a']);
    story.patient = true;
    await story.takeSome(10);
    const error = { code: 'timeout' as const, message: 'late' };
    for (const { answer } of story.open) {
      answer({ ok: false, error, durationMs: 9_000, excuse: 'own_fault' });
    }
    await settle();
    expect(story.waits()).toEqual(
      Array(10).fill({ tier: 'retry.10s', reason: 'backoff', attempt: 1 }),
    );
    expect(story.events('circuit')).toEqual([]);
    await story.takeSome(10);
    expect(story.sent).toHaveLength(20);
  });

  test('a corrected URL gets a new circuit', async () => {
    story = new Story(['/old']);
    story.answers = ({ path }) => (path === '/old' ? 500 : 200);
    await story.takeSome(TO_OPEN + 1);
    story.destination = { ...story.destination, endpoints: [endpoint('/new')] };
    await story.take({ reason: 'circuit_open', hop: 1 }, { topic: 'webhooks.due' });
    expect(story.sent.at(-1)!.path).toBe('/new');
    expect(story.events('attempt').at(-1)).toMatchObject({ outcome: 'delivered' });
  });

  test('requests that wait in the lane of a URL go to the corrected one', async () => {
    story = new Story(['/old']);
    story.patient = true;
    await story.takeSome(21);
    story.destination = { ...story.destination, endpoints: [endpoint('/new')] };
    story.open[0]!.answer(resultOf(200));
    await settle();
    expect(story.sent.at(-1)!.path).toBe('/new');
    await story.pass(GATHER_MS);
    expect(story.done).toHaveLength(1);
    story.open.at(-1)!.answer(resultOf(200));
    await story.pass(GATHER_MS);
    expect(story.done).toHaveLength(2);
  });

  test('a test send passes an open circuit', async () => {
    story = new Story(['/a']);
    story.answers = () => 500;
    await story.takeSome(TO_OPEN + 1);
    await story.take({ test: true });
    expect(story.sent).toHaveLength(TO_OPEN + 1);
  });
});

test('Retry-After holds back the whole lane, and a single request follows it', async () => {
  story = new Story(['/a']);
  story.answers = () => ({ status: 429, retryAfter: '30' });
  await story.take();
  story.answers = () => 200;
  await story.takeSome(3);
  expect(story.sent).toHaveLength(1);
  // The wait of the attempt is composed of tiers, and those behind it wait in one.
  expect(story.waits()).toEqual([
    { tier: 'retry.20s', reason: 'retry_after', attempt: 1 },
    ...Array(3).fill({ tier: 'retry.1m', reason: 'retry_after', attempt: 0 }),
  ]);
  await story.pass(31_000);
  story.patient = true;
  await story.takeSome(3);
  expect(story.open).toHaveLength(1);
});

describe('several URLs that ask for pauses', () => {
  test('a URL that asks for a long one holds no other back', async () => {
    story = new Story(['/long', '/failing']);
    story.answers = ({ path }) => (path === '/long' ? { status: 503, retryAfter: '600' } : 500);
    await story.take();
    expect(story.waits()).toEqual([{ tier: 'retry.10s', reason: 'backoff', attempt: 1 }]);
    await story.take({ attempt: 1, hop: 1 }, { topic: 'webhooks.due' });
    expect(story.sent.map(({ path }) => path)).toEqual(['/long', '/failing', '/failing']);
  });

  test('the shortest of their pauses decides', async () => {
    story = new Story(['/long', '/short']);
    story.answers = ({ path }) => ({ status: 503, retryAfter: path === '/long' ? '600' : '30' });
    await story.take();
    expect(story.waits()).toEqual([{ tier: 'retry.20s', reason: 'retry_after', attempt: 1 }]);
  });

  test('a pause of one counts for nothing while another one waits for its circuit', async () => {
    story = new Story(['/long', '/away']);
    story.answers = ({ path }) => (path === '/away' ? 500 : 404);
    await story.takeSome(TO_OPEN);
    story.answers = () => ({ status: 429, retryAfter: '600' });
    await story.take();
    expect(story.waits().at(-1)).toEqual({ tier: 'retry.10s', reason: 'backoff', attempt: 1 });
  });
});

describe('a receiver that wants nothing more', () => {
  const ends = () => story.events('dead').map(({ reason }) => reason);
  const disabled = () => story.events('url_disabled');
  /** The last delivery that was written to a tier. */
  const waiting = (): Delivery => {
    const record = story.producer.appends
      .flat()
      .findLast(({ topic }) => topic.startsWith('webhooks.retry'));
    const decoded = decodeDelivery(record?.headers ?? {});
    if (decoded.kind !== 'delivery') throw new Error(decoded.kind);
    return decoded.delivery;
  };
  /**
   * The configuration is read up to the present, which every decision to end a delivery waits for.
   */
  const readConfig = async () => {
    story.config.readToEnd();
    await settle();
  };

  test('by a 410 gets nothing more at once, and what has no other URL ends', async () => {
    story = new Story(['/gone']);
    story.answers = () => 410;
    await story.takeSome(10);
    await readConfig();
    expect(story.sent).toHaveLength(1);
    expect(ends()).toEqual(Array(10).fill('url_disabled'));
    expect(disabled()).toEqual([
      {
        kind: 'url_disabled',
        destination: 'dst',
        webhook: 'whk/gone',
        enables: 0,
        reason: 'gone',
        at: new Date(START).toISOString(),
      },
    ]);
    expect(story.done).toHaveLength(10);
  });

  test('holds up no delivery that waited for it', async () => {
    story = new Story(['/gone']);
    story.patient = true;
    await story.takeSome(30);
    for (const { answer } of story.open.splice(0)) answer(resultOf(410));
    await settle();
    await readConfig();
    expect(story.sent).toHaveLength(20);
    expect(ends()).toEqual(Array(30).fill('url_disabled'));
    expect(disabled()).toHaveLength(1);
  });

  test('leaves the other URLs of its destination as they are', async () => {
    story = new Story(['/gone', '/good']);
    story.answers = ({ path }) => (path === '/gone' ? 410 : 200);
    await story.takeSome(3);
    expect(story.sent.map(({ path }) => path)).toEqual(['/gone', '/good', '/good', '/good']);
    expect(story.events('attempt').at(-1)).not.toHaveProperty('notCalled');
    expect(ends()).toEqual([]);
  });

  test('is off for each webhook of its destination that has it', async () => {
    story = new Story(['/gone', '/good']);
    const [gone, good] = story.destination.endpoints;
    const same = { ...gone!, id: 'whk/same', hash: 'hash/same', lane: 'dst/hash/same' };
    story.destination = { ...story.destination, endpoints: [gone!, same, good!] };
    story.answers = ({ path }) => (path === '/gone' ? 410 : 200);
    await story.takeSome(3);
    expect(disabled().map(({ webhook }) => webhook)).toEqual(['whk/gone', 'whk/same']);
    expect(story.sent.slice(3).map(({ path }) => path)).toEqual(['/good', '/good']);
  });

  test('gets a message that another URL has not taken, once it is on again', async () => {
    story = new Story(['/gone', '/failing']);
    story.answers = ({ path }) => (path === '/gone' ? 410 : 500);
    await story.take();
    expect(story.waits()).toEqual([{ tier: 'retry.10s', reason: 'backoff', attempt: 1 }]);
    story.destination = { ...story.destination, endpoints: [{ ...endpoint('/gone'), enables: 1 }] };
    story.version = 2;
    story.answers = () => 200;
    await story.pass(10_000);
    await story.take(waiting(), { topic: 'webhooks.due' });
    expect(story.events('attempt').at(-1)).toMatchObject({
      outcome: 'delivered',
      urls: [{ url: 'whk/gone' }],
    });
  });

  test('gets messages again once it is on or has another address, not before', async () => {
    story = new Story(['/gone']);
    story.answers = () => 410;
    await story.take();
    const [before] = story.destination.endpoints;
    story.destination = { ...story.destination, endpoints: [{ ...before!, disabled: true }] };
    story.version = 2;
    await story.take();
    // A version from before control had read the event.
    story.destination = { ...story.destination, endpoints: [{ ...before! }] };
    story.version = 3;
    await story.take();
    expect(story.sent).toHaveLength(1);
    story.answers = () => 200;
    story.destination = { ...story.destination, endpoints: [{ ...before!, enables: 1 }] };
    story.version = 4;
    await story.take();
    expect(story.sent).toHaveLength(2);
    story.answers = () => 410;
    await story.take();
    story.destination = {
      ...story.destination,
      endpoints: [{ ...before!, ...endpoint('/moved'), enables: 2 }],
    };
    story.version = 5;
    story.answers = () => 200;
    await story.take();
    expect(story.sent.at(-1)?.path).toBe('/moved');
    expect(disabled().map(({ enables }) => enables)).toEqual([0, 1]);
  });

  test('by a 410 to a test goes on getting messages', async () => {
    story = new Story(['/gone']);
    story.answers = () => 410;
    await story.take({ test: true });
    story.answers = () => 200;
    await story.take();
    expect(story.sent).toHaveLength(2);
    expect(disabled()).toEqual([]);
  });

  test('gets tests while it is off', async () => {
    story = new Story(['/gone']);
    story.answers = () => 410;
    await story.take();
    await story.take({ test: true });
    expect(story.sent).toHaveLength(2);
  });

  test('gets retries of a 410 that its destination retries', async () => {
    story = new Story(['/busy']);
    story.destination.endpoints[0]!.retriedStatuses = new Set([410]);
    story.answers = () => 410;
    await story.takeSome(2);
    expect(story.waits().map(({ reason }) => reason)).toEqual(['backoff', 'backoff']);
    expect(disabled()).toEqual([]);
  });

  test.each([500, 404, 200])(
    'by webhook-delivery: disable gets nothing more after a %i',
    async (status) => {
      story = new Story(['/asks']);
      story.answers = () => ({ status, asks: 'disable' });
      await story.takeSome(3);
      await readConfig();
      expect(story.sent).toHaveLength(1);
      expect(disabled()).toMatchObject([{ reason: 'asked' }]);
      expect(ends()).toEqual(Array(status === 200 ? 2 : 3).fill('url_disabled'));
      expect(story.events('attempt')).toMatchObject([{ urls: [{ status, asked: 'disable' }] }]);
      expect(story.events('circuit')).toEqual([]);
    },
  );

  test('of one message alone, by webhook-delivery: abort-message, gets the others', async () => {
    story = new Story(['/asks']);
    story.answers = () => ({ status: 500, asks: 'abort-message' });
    await story.takeSome(TO_OPEN + 1);
    expect(story.sent).toHaveLength(TO_OPEN + 1);
    expect(ends()).toEqual(Array(TO_OPEN + 1).fill('aborted_by_receiver'));
    expect(story.events('attempt')[0]).toMatchObject({
      outcome: 'rejected',
      reason: 'aborted_by_receiver',
      urls: [
        {
          status: 500,
          asked: 'abort-message',
          error: { message: expect.stringContaining('asked not to get') },
        },
      ],
    });
    // It answers: its circuit stays closed.
    expect(story.events('circuit')).toEqual([]);
  });

  test('of one message alone gets it no more, while another URL is asked again', async () => {
    story = new Story(['/asks', '/failing']);
    story.answers = ({ path }) => (path === '/asks' ? { status: 503, asks: 'abort-message' } : 500);
    await story.take();
    expect(waiting()).toMatchObject({ excludedUrls: ['hash/asks'], reason: 'backoff' });
  });
});

test('many small deliveries fill a process by their cost beside the body', () => {
  story = new Story(['/a'], {}, 64 * 1024);
  story.patient = true;
  const offered = Array.from({ length: 20 }, () => story.offer());
  expect(offered).toEqual([...Array(16).fill('accepted'), ...Array(4).fill('busy')]);
});

describe('a decision that needs a current config', () => {
  test("a decision that ends a delivery waits for config up to the record's time", async () => {
    story = new Story(['/a'], { enabled: false });
    story.config.readToEnd();
    await story.pass(1);
    await story.take();
    expect(story.events('cancelled')).toEqual([]);
    story.destination.enabled = true;
    story.config.readToEnd(1);
    await story.pass(1);
    expect([story.sent.length, story.events('cancelled')]).toEqual([1, []]);
    story.destination.enabled = false;
    await story.take();
    await story.pass(1);
    story.config.readToEnd();
    await story.pass(1);
    expect(story.events('cancelled')).toMatchObject([{ reason: 'destination_disabled' }]);
    await story.pass(GATHER_MS);
    expect(new Set(story.done)).toEqual(new Set([0, 1]));
  });

  test('a delivery for a later destination version is sent once that one is known', async () => {
    story = new Story(['/old']);
    story.config.readToEnd();
    await story.pass(1);
    await story.take({ destinationVersion: 2 });
    expect(story.sent).toEqual([]);
    story.version = 2;
    story.destination.endpoints = [endpoint('/new')];
    story.config.readToEnd(1);
    await story.pass(1);
    expect(story.sent.map(({ path }) => path)).toEqual(['/new']);
  });

  test('a delivery that waits for config is handed back with its partition', async () => {
    story = new Story(['/a'], { enabled: false });
    story.releasable = 1;
    story.config.readToEnd();
    await story.pass(1);
    await story.take();
    story.leaving = true;
    story.deliverer.onRevoking();
    story.config.readToEnd();
    await story.pass(1);
    expect([story.released, story.done, story.producer.appends]).toEqual([[0], [], []]);
  });
});

describe('a process that lost its session', () => {
  test('a revoked record is handed back in its turn, and no request of it is sent', async () => {
    story = new Story(['/a']);
    story.patient = true;
    await story.takeSome(30);
    // The partition is lost, and the deliverer does not know yet.
    story.leaving = true;
    for (const { answer } of [...story.open]) answer(resultOf(200));
    await settle();
    await story.pass(100);
    expect([story.sent.length, story.released, story.done]).toEqual([
      20,
      range(20, 30),
      range(0, 20),
    ]);
    expect(story.deliverer.load).toBe(0);
  });

  test('what fails goes on with the next owner, who may have delivered it', async () => {
    story = new Story(['/a']);
    story.patient = true;
    await story.takeSome(4);
    story.leaving = true;
    story.inDoubt = true;
    for (const status of [503, 'timeout', 404, 200] as const) {
      story.open.shift()!.answer(resultOf(status));
    }
    await settle();
    expect([story.released, story.done]).toEqual([[0, 1, 2], [3]]);
    expect(story.waits()).toEqual([]);
    expect(story.deliverer.load).toBe(0);
  });

  test('nor is what has failed, and waits in the producer, written any more', async () => {
    story = new Story(['/a']);
    story.patient = true;
    await story.takeSome(4);
    let thaw!: () => void;
    const thawed = new Promise<void>((resolve) => (thaw = resolve));
    const written: OutRecord[] = [];
    story.producer.behave = async (records) => {
      await thawed;
      const valid = records.filter((record) => record.isVoid?.() !== true);
      written.push(...valid);
      if (valid.length < records.length) throw new AppError('withdrawn', 'void', true);
    };
    story.leaving = true;
    for (const status of [503, 'timeout', 404, 200] as const) {
      story.open.shift()!.answer(resultOf(status));
    }
    await settle();
    expect([story.released, story.done]).toEqual([[], []]);
    story.inDoubt = true;
    thaw();
    await settle();
    expect([story.released, story.done]).toEqual([[0, 1, 2], [3]]);
    expect(story.deliverer.load).toBe(0);
    // Nor do events say that they go on or are dead: their next owner may deliver them.
    const events = written.flatMap(({ value }) => readEvents(String(value)));
    expect(events).toMatchObject([{ delivery: 'dlv_3' }]);
  });

  test('with one record of a step all are withdrawn, also if nobody else owns it', async () => {
    story = new Story(['/a']);
    story.answers = () => 404;
    const areVoid: (boolean | undefined)[] = [];
    story.producer.behave = (records) => {
      story.inDoubt = true;
      areVoid.push(records[0]?.isVoid?.());
      story.inDoubt = false;
      areVoid.push(...records.map((record) => record.isVoid?.()));
      return Promise.reject(new AppError('withdrawn', 'void', true));
    };
    await story.take();
    expect(areVoid).toEqual([true, true, true, true]);
    expect([story.released, story.done]).toEqual([[0], []]);
  });

  test('once a next record of a step may be written, its event is withdrawn no more', async () => {
    story = new Story(['/a']);
    story.answers = () => 404;
    const areVoid: (boolean | undefined)[] = [];
    story.producer.behave = (records) => {
      const [event, next] = [ATTEMPTS, DEAD].map((topic) =>
        records.find((record) => record.topic === topic),
      );
      areVoid.push(next?.isVoid?.());
      story.inDoubt = true;
      areVoid.push(event?.isVoid?.());
      return Promise.resolve();
    };
    await story.take();
    expect(areVoid).toEqual([false, false]);
    expect([story.released, story.done]).toEqual([[], [0]]);
  });
});

describe('a process that is stopping', () => {
  test('queued deliveries are handed back, open ones finish, and none is repeated', async () => {
    story = new Story(['/a']);
    story.patient = true;
    await story.takeSome(30);
    story.leaving = true;
    story.deliverer.onRevoking();
    expect([story.open.length, story.released, story.producer.appends]).toEqual([
      20,
      range(20, 30),
      [],
    ]);
    for (const { answer } of story.open) answer(resultOf(200));
    await settle();
    expect(story.done.sort((a, b) => a - b)).toEqual(range(0, 20));
    expect([story.sent.length, story.deliverer.load]).toEqual([20, 0]);
  });

  test('an attempt in progress at one URL ends with it and omits a queued URL', async () => {
    story = new Story(['/hangs']);
    story.patient = true;
    await story.takeSome(20);
    story.destination = { ...story.destination, endpoints: ['/hangs', '/b'].map(endpoint) };
    await story.take();
    story.leaving = true;
    story.deliverer.onRevoking();
    expect(story.released).toEqual([]);
    story.open.at(-1)!.answer(resultOf(500));
    await settle();
    expect(story.done).toEqual([20]);
    expect(story.waits()).toEqual([{ tier: 'retry.10s', reason: 'backoff', attempt: 1 }]);
  });

  test('a delivery that cannot be handed back goes to a tier without an attempt', async () => {
    story = new Story(['/a']);
    story.patient = true;
    story.releasable = 3;
    await story.takeSome(25);
    story.leaving = true;
    story.deliverer.onRevoking();
    await settle();
    expect([story.released, story.done]).toEqual([
      [20, 21, 22],
      [23, 24],
    ]);
    expect(story.waits()).toEqual(
      Array(2).fill({ tier: 'retry.10s', reason: 'handed_over', attempt: 0 }),
    );
  });
});

test('a delivery whose event Kafka refuses for good still takes its next step', async () => {
  story = new Story(['/a']);
  story.answers = () => 503;
  story.producer.behave = (records) => {
    const refused = records.some(({ topic }) => topic === 'attempts');
    return refused ? Promise.reject(new AppError('kafka_refused', 'too large')) : Promise.resolve();
  };
  await story.take();
  expect(story.done).toEqual([0]);
  expect(story.producer.appends.at(-1)?.map(({ topic }) => topic)).toEqual(['webhooks.retry.10s']);
});

test('a delivery whose next record Kafka refuses for good ends dead without a body', async () => {
  story = new Story(['/a']);
  story.answers = () => 503;
  story.producer.behave = (records) => {
    const refused = records.some(({ topic, value }) => topic !== 'attempts' && value?.length !== 0);
    return refused
      ? Promise.reject(new AppError('kafka_refused', 'too large', false))
      : Promise.resolve();
  };
  await story.take({ id: 'dlv_big' });
  expect(story.done).toEqual([0]);
  const [event, letter] = story.producer.appends.at(-1)!;
  expect(JSON.parse(String(event!.value))).toMatchObject({
    kind: 'dead',
    delivery: 'dlv_big',
    n: 1,
    reason: 'too_large',
  });
  expect(letter).toMatchObject({
    topic: 'webhooks.dead',
    value: '',
    headers: { delivery: 'dlv_big', attempt: '1', reason: 'too_large' },
  });
});

test.each<[string, Partial<Delivery>]>([
  ['whose next record and dead letter Kafka refuses for good', {}],
  ['that cannot be read, and whose dead letter Kafka refuses for good', { expiresAt: NaN }],
])('a delivery %s is gone, and holds up no commit', async (_, change) => {
  story = new Story(['/a']);
  story.answers = () => 503;
  story.producer.behave = () => Promise.reject(new AppError('kafka_refused', 'too large', false));
  await story.take(change);
  expect([story.done, story.deliverer.load]).toEqual([[0], 0]);
});

test.each<[string, Partial<Delivery>]>([
  ['that goes on', {}],
  ['that cannot be read', { expiresAt: NaN }],
])('a delivery %s stays open if the producer stops', async (_, change) => {
  story = new Story(['/a']);
  story.answers = () => 503;
  story.producer.behave = () => Promise.reject(new AppError('kafka_unavailable', 'stopping', true));
  await story.take(change);
  expect(story.done).toEqual([]);
});

describe('duplicate steps', () => {
  test('a second record of the same step is dropped and done', async () => {
    story = new Story(['/a']);
    await story.take({ id: 'dlv_x' });
    await story.take({ id: 'dlv_x' });
    await story.pass(GATHER_MS);
    expect([story.sent.length, story.done.length, story.deliverer.duplicatesDropped]).toEqual([
      1, 2, 1,
    ]);
    await story.take({ id: 'dlv_x', hop: 1, attempt: 1 });
    expect(story.sent).toHaveLength(2);
  });

  test('a step that was cut off the log is taken again', async () => {
    story = new Story(['/a']);
    await story.take({ id: 'dlv_x' });
    story.deliverer.onRestart({ topic: 'webhooks', partition: 0, from: 0, wasCut: true });
    await story.take({ id: 'dlv_x' });
    await story.pass(GATHER_MS);
    expect([story.sent.length, story.deliverer.duplicatesDropped]).toEqual([2, 0]);
  });
});

describe('rows of attempts', () => {
  const attempts = () => story.producer.appends.flat().filter(({ topic }) => topic === 'attempts');
  const deliveries = ({ value }: OutRecord) =>
    readEvents(String(value)).map((event) => ('delivery' in event ? event.delivery : ''));

  beforeEach(() => {
    story = new Story(['/a']);
  });

  test('successes of first attempts share a keyless record, done when acknowledged', async () => {
    await story.takeSome(3);
    expect([attempts(), story.done]).toEqual([[], []]);
    await story.pass(GATHER_MS);
    const [record, ...others] = attempts();
    expect([record?.key, record?.headers, others]).toEqual([null, { format: FORMAT_HEADER }, []]);
    expect(deliveries(record!)).toEqual(['dlv_0', 'dlv_1', 'dlv_2']);
    expect(story.done).toEqual([0, 1, 2]);
  });

  test('a full record is written immediately', async () => {
    await story.takeSome(101);
    expect(attempts().map((record) => deliveries(record).length)).toEqual([100]);
    await story.pass(GATHER_MS);
    expect(attempts().map((record) => deliveries(record).length)).toEqual([100, 1]);
    expect(story.done).toHaveLength(101);
  });

  test('successes are written at once when a partition moves, and while it leaves', async () => {
    story.patient = true;
    await story.takeSome(2);
    story.open.shift()?.answer(resultOf(200));
    story.leaving = true;
    story.deliverer.onRevoking();
    expect(attempts().map(deliveries)).toEqual([['dlv_0']]);
    story.open.shift()?.answer(resultOf(200));
    expect(attempts().map(deliveries)).toEqual([['dlv_0'], ['dlv_1']]);
  });

  test.each<[string, Partial<Delivery>]>([
    ['a later attempt', { attempt: 1, hop: 1 }],
    ['a delivery that waited', { hop: 1 }],
    ['a replay', { replay: 1 }],
    ['a test', { test: true }],
  ])('%s has a record of its own, with the id of the delivery as its key', async (_, change) => {
    await story.take(change);
    expect(attempts().map(({ key }) => key)).toEqual(['dlv_0']);
  });

  test('a success with another open request has its own record before the response', async () => {
    story.stop();
    story = new Story(['/a', '/b']);
    story.patient = true;
    await story.take();
    for (const { answer } of story.open) answer(resultOf(200));
    await story.pass(GATHER_MS);
    expect(attempts().map(({ key }) => key)).toEqual(['dlv_0', 'dlv_0']);
  });

  test('a failure has a record of its own, immediately', async () => {
    story.answers = () => 500;
    await story.take();
    expect(attempts().map(({ key }) => key)).toEqual(['dlv_0']);
  });

  test('if Kafka refuses a record for good, each success has one with the same event', async () => {
    story.producer.behave = () =>
      attempts().at(-1)?.key === null
        ? Promise.reject(new AppError('kafka_refused', 'too large', false))
        : Promise.resolve();
    await story.takeSome(2, { userId: 'u' });
    await story.pass(GATHER_MS);
    expect(attempts().map(({ key }) => key)).toEqual([null, 'dlv_0', 'dlv_1']);
    const [rows, ...singles] = attempts().map(({ value }) => readEvents(String(value)));
    expect(singles.flat()).toEqual(rows);
    expect(story.done).toEqual([0, 1]);
  });

  test('while Kafka takes no records, the successes stay open', async () => {
    story.producer.behave = () => Promise.reject(new AppError('kafka_unavailable', 'away', true));
    await story.takeSome(2);
    await story.pass(GATHER_MS);
    expect(story.done).toEqual([]);
  });
});

describe('deletions of users', () => {
  beforeEach(() => {
    story = new Story(['/a']);
  });

  const ends = () => story.events('cancelled').map(({ delivery, reason }) => [delivery, reason]);
  const forget = (userId: string) => story.deletions.add({ userId, at: Date.now() });
  const decideAgain = async () => {
    story.config.readToEnd();
    await settle();
  };

  test('an older call of a deleted user is cancelled, wherever it comes from', async () => {
    const acceptedAt = Date.now() - 1;
    forget('kim');
    await story.take({ userId: 'kim', acceptedAt });
    await story.take({ userId: 'kim', acceptedAt, attempt: 3, hop: 3 }, { topic: 'webhooks.due' });
    await story.take({ userId: 'kim', acceptedAt, recalled: 'retry' }, { topic: 'webhooks.due' });
    await story.take({ userId: 'kim', acceptedAt, replay: 1 }, { topic: 'webhooks.due' });
    story.destination = { ...story.destination, paused: true };
    await story.take({ userId: 'kim', acceptedAt });
    expect(story.sent).toEqual([]);
    expect(ends()).toEqual(range(0, 5).map((i) => [`dlv_${String(i)}`, 'user_deleted']));
    expect(story.done).toEqual(range(0, 5));
  });

  test('a call that waits in a lane is cancelled instead of sent', async () => {
    story.patient = true;
    const { ceiling } = laneOptions(TIERS);
    await story.takeSome(ceiling + 1, { userId: 'lee' });
    await story.take({ userId: 'kim' });
    await story.pass(1);
    forget('kim');
    const sentBefore = story.sent.length;
    while (story.open.length > 0) {
      story.open.shift()?.answer(resultOf(200));
      await settle();
    }
    expect(story.sent.length).toBeGreaterThan(sentBefore);
    expect(ends()).toEqual([[`dlv_${String(ceiling + 1)}`, 'user_deleted']]);
  });

  const NOT_SENT: SendResult = {
    ok: false,
    error: { code: 'connection', message: 'not sent' },
    durationMs: 1,
    excuse: 'unpermitted',
  };

  test('a call that waits for its connection is cancelled instead of sent', async () => {
    story.patient = true;
    await story.take({ userId: 'kim' });
    const [request] = story.open;
    await story.pass(1);
    forget('kim');
    // A permission holds for a moment.
    expect(request!.isPermitted()).toBe(true);
    await story.pass(100);
    expect(request!.isPermitted()).toBe(false);
    request!.answer(NOT_SENT);
    await settle();
    expect(ends()).toEqual([['dlv_0', 'user_deleted']]);
    expect(story.events('attempt')).toEqual([]);
    expect(story.done).toEqual([0]);
  });

  test('a call that awaited its connection in a frozen process waits for deletions', async () => {
    story.patient = true;
    await story.take({ userId: 'kim' });
    await story.take();
    const standstillMs = 60_000;
    jest.setSystemTime(Date.now() + standstillMs);
    story.deletions.ageMs = standstillMs;
    const [ofKim, ofNobody] = story.open.splice(0);
    expect([ofKim!.isPermitted(), ofNobody!.isPermitted()]).toEqual([false, true]);
    ofKim!.answer(NOT_SENT);
    await settle();
    expect(story.open).toEqual([]);
    story.deletions.ageMs = 0;
    await decideAgain();
    expect(story.open).toHaveLength(1);
    story.open[0]!.answer(resultOf(200));
    ofNobody!.answer(resultOf(200));
    await story.pass(GATHER_MS);
    expect(story.done.sort()).toEqual([0, 1]);
  });

  test('a request that waited minutes while the process stood still is signed anew', async () => {
    story.patient = true;
    await story.take();
    jest.setSystemTime(Date.now() + 300_000);
    const [late] = story.open.splice(0);
    expect(late!.isPermitted()).toBe(false);
    late!.answer(NOT_SENT);
    await settle();
    const { headers, at } = story.sent[1]!;
    const signedAt = Number(headers[headers.indexOf('webhook-timestamp') + 1]);
    expect(signedAt).toBe(Math.floor((START + at) / 1_000));
    expect(story.open[0]!.isPermitted()).toBe(true);
    expect(story.events('attempt')).toEqual([]);
  });

  test.each<[string, Partial<Delivery>]>([
    ['a first attempt', {}],
    ['the last attempt', { attempt: 5 }],
    ['an attempt behind a circuit', { reason: 'circuit_open', recalled: 'recovered' }],
  ])(
    '%s that began within its window is sent although its connection takes longer',
    async (_, change) => {
      story.patient = true;
      await story.take({ ...change, expiresAt: Date.now() + 50 });
      await story.pass(150);
      expect(story.open[0]!.isPermitted()).toBe(true);
    },
  );

  test('a delivery whose window ended while the process stood still is tried once', async () => {
    story.patient = true;
    await story.take({ expiresAt: Date.now() + 200_000 });
    jest.setSystemTime(Date.now() + 300_000);
    story.open.splice(0)[0]!.answer(NOT_SENT);
    await settle();
    expect(story.waits()).toEqual([]);
    expect(story.open).toHaveLength(1);
  });

  test('a call whose window ended while deletions were not known is tried once', async () => {
    const acceptedAt = Date.now() - 10_000;
    story.deletions.ageMs = 600_000;
    await story.take({ userId: 'kim', acceptedAt, expiresAt: Date.now() + 100_000 });
    expect(story.sent).toEqual([]);
    jest.setSystemTime(Date.now() + 600_000);
    story.deletions.ageMs = 0;
    await decideAgain();
    expect(story.sent).toHaveLength(1);
  });

  test('later calls, calls of others and of other sources are sent', async () => {
    story.deletions.add({ userId: 'kim', at: Date.now(), sources: ['src_a'] });
    story.deletions.add({ anonymousId: 'visitor', at: Date.now() });
    const acceptedAt = Date.now() - 1;
    await story.take({ userId: 'kim', sourceId: 'src_a', acceptedAt: Date.now() });
    await story.take({ userId: 'kim', sourceId: 'src_b', acceptedAt });
    await story.take({ userId: 'visitor', acceptedAt });
    await story.take({ userId: 'lee', anonymousId: 'visitor', acceptedAt });
    await story.take({ acceptedAt });
    expect(story.sent).toHaveLength(5);
    await story.take({ userId: 'kim', sourceId: 'src_a', acceptedAt });
    await story.take({ anonymousId: 'visitor', acceptedAt });
    expect(story.sent).toHaveLength(5);
    expect(ends()).toEqual([
      ['dlv_5', 'user_deleted'],
      ['dlv_6', 'user_deleted'],
    ]);
  });

  const isSentAfterTwoSeconds = async () => {
    await story.pass(1_999);
    await decideAgain();
    expect(story.sent).toEqual([]);
    await story.pass(1);
    await decideAgain();
    expect(story.sent).toHaveLength(1);
  };

  test('a `delete` of a control whose clock is ahead is sent 2 s after its record', async () => {
    await story.take({ type: 'delete', userId: 'kim', acceptedAt: Date.now() + 3_600_000 });
    await isSentAfterTwoSeconds();
  });

  test.each([0, -5_000, 5_000])(
    'a `delete` is sent two seconds after the deletion, if the brokers are %p ms ahead',
    async (brokersAheadMs) => {
      story.brokersAheadMs = brokersAheadMs;
      await story.take({ type: 'delete', userId: 'kim' });
      await isSentAfterTwoSeconds();
    },
  );

  test('a `delete` is sent after the requests for older calls of its user have ended', async () => {
    story.patient = true;
    await story.take({ userId: 'kim', acceptedAt: Date.now() - 1 });
    await story.take({ userId: 'lee', acceptedAt: Date.now() - 1 });
    forget('kim');
    await story.take({ type: 'delete', userId: 'kim' });
    await story.take({ userId: 'kim', acceptedAt: Date.now() + 1 });
    await story.pass(3_000);
    await decideAgain();
    expect(story.sent).toHaveLength(3);
    story.open[0]?.answer(resultOf(200));
    await decideAgain();
    expect(story.sent).toHaveLength(4);
    expect(story.events('attempt')).toEqual([]);
  });

  test('they are asked for each second while a delivery is in hand, and an idle process has no timer for that', async () => {
    let asked = 0;
    story.deletions.expectSoon = () => {
      asked++;
      return undefined;
    };
    // Only that of the lanes.
    expect(jest.getTimerCount()).toBe(1);
    story.patient = true;
    await story.take({ userId: 'kim' });
    await story.pass(3_000);
    expect(asked).toBe(3);
    story.open[0]?.answer(resultOf(200));
    await story.pass(5_000);
    expect([asked, jest.getTimerCount()]).toEqual([3, 1]);
  });

  test('while deletions are unknown, older calls of a user wait, and others do not', async () => {
    story.deletions.ageMs = 1_500;
    const acceptedAt = Date.now() - 1_500;
    await story.take({ userId: 'kim', acceptedAt });
    await story.take({ anonymousId: 'visitor', acceptedAt });
    await decideAgain();
    expect(story.sent).toEqual([]);
    await story.take({ userId: 'kim', acceptedAt: acceptedAt + 1 });
    await story.take({ acceptedAt });
    expect(story.sent).toHaveLength(2);
    story.deletions.ageMs = 0;
    story.deletions.add({ anonymousId: 'visitor', at: Date.now() });
    await decideAgain();
    expect(story.sent).toHaveLength(3);
    expect(ends()).toEqual([['dlv_1', 'user_deleted']]);
  });
});
