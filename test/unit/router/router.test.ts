import { defined } from '../../../shared/collections/defined';
import { writeMessage } from '../../../shared/model/cut-body';
import { createLog } from '../../../shared/telemetry/log';
import { type Source } from '../../../shared/model/config';
import { type RejectedRecord } from '../../../shared/model/rejected-calls';
import { createDedupWindow } from '../../../shared/model/dedup-window';
import { AppError } from '../../../shared/runtime/errors';
import { type OutRecord } from '../../../shared/kafka/port';
import { type EarlierKnown } from '../../../services/router/earlier-messages';
import { Router } from '../../../services/router/router';
import { fakeProgress } from '../../support/fakes';
import { aDestination, aRecord } from '../../support/factories';
import { FORMAT_HEADER } from '../../../shared/model/record-format';

const AT = '2026-01-01T00:00:00.000Z';
const NOW = 1_700_000_000_000;
const source: Source = {
  id: 's1',
  name: 'Site',
  enabled: true,
  writeKeys: [],
  createdAt: AT,
  updatedAt: AT,
};
const destination = aDestination({ id: 'd1', sources: ['s1'] });

/** A router over a producer whose acknowledgements the test gives. */
function aRouter() {
  const sources = new Map([['s1', source]]);
  const appends: { records: OutRecord[]; ack(): void; fail(error: Error): void }[] = [];
  const config = fakeProgress();
  const destinations = new Map([['d1', destination]]);
  const unreadable = new Set<string>();
  const fatal: unknown[] = [];
  const done: number[] = [];
  const released: number[] = [];
  const deferred: number[] = [];
  const state = { pendingBytes: 0, rooms: 0, decidable: 0, releasable: Infinity };
  const earlier: { known: EarlierKnown; forgotten: number[] } = { known: 'all', forgotten: [] };
  const entry = <T>(data: T) => ({ version: 1, data });
  const router = new Router({
    config: Object.assign(config, {
      source: (id: string) => (sources.has(id) ? entry(sources.get(id)!) : undefined),
      destinationsOf: () => [...destinations.values()].map(entry),
      isUnreadable: (_: string, id: string) => unreadable.has(id),
      unreadableDestinationsOf: (id: string) =>
        id === 's1' ? [...unreadable].filter((name) => name.startsWith('d')) : [],
    }),
    producer: {
      send: (records) =>
        new Promise<void>((ack, fail) => {
          appends.push({ records, ack, fail });
        }),
      get pendingBytes() {
        return state.pendingBytes;
      },
      oldestPendingAt: undefined,
      close: () => Promise.resolve(),
    },
    dedupWindow: createDedupWindow(),
    earlier: {
      before: () => earlier.known,
      forget: (partition: number) => earlier.forgotten.push(partition),
    },
    windowMs: 1_000,
    now: () => NOW,
    log: createLog('router', 'silent'),
    onRoom: () => state.rooms++,
    onDecidable: () => state.decidable++,
    onFatal: (error) => fatal.push(error),
  });
  /** A track call as ingest writes it, changed as the test wants. */
  const give = (
    offset: number,
    over: {
      messageId?: string;
      headers?: Record<string, string>;
      key?: Buffer;
      value?: string | Buffer;
      leaving?: boolean;
    } = {},
  ) => {
    const messageId = over.messageId ?? `m${String(offset)}`;
    const message = {
      type: 'track',
      event: 'e',
      messageId,
      timestamp: AT,
      receivedAt: AT,
      userId: 'u',
    };
    const { value = JSON.stringify(message) } = over;
    const headers = {
      format: FORMAT_HEADER,
      source: 's1',
      message: messageId,
      'accepted-at': String(NOW),
      ...over.headers,
    };
    const record = aRecord({
      partition: 3,
      offset,
      timestampMs: NOW,
      value: Buffer.isBuffer(value) ? value : Buffer.from(value),
      ...defined({ key: over.key }),
      headers,
      done: () => done.push(offset),
      isRevoking: over.leaving ?? false,
      handBack: () => state.releasable-- > 0 && released.push(offset) > 0,
      defer: () => deferred.push(offset),
    });
    const verdict = router.onRecord(record);
    // As of the real one, its parts can be read only while it is offered.
    const tooLate = () => {
      throw new Error('it is read after it was taken');
    };
    if (verdict === 'accepted') {
      for (const part of ['key', 'value', 'headers']) {
        Object.defineProperty(record, part, { get: tooLate });
      }
    }
    return verdict;
  };
  return {
    router,
    earlier,
    config,
    sources,
    destinations,
    unreadable,
    appends,
    fatal,
    done,
    released,
    deferred,
    state,
    give,
  };
}

/** Lets promises that are settled run their course. */
const settle = () => new Promise((resolve) => setImmediate(resolve));
/** As the producer tells of a record that is larger than the broker takes. */
const refused = () => new AppError('kafka_refused', 'a record is larger than the broker takes');
const rejection = (record: OutRecord) => JSON.parse(String(record.value)) as RejectedRecord;

describe('Router', () => {
  test('drops the copy of a message that no destination took, as after a takeover', () => {
    const { give, config, destinations, appends, done, router } = aRouter();
    destinations.clear();
    give(1, { messageId: 'same' });
    config.readToEnd();
    destinations.set('d1', destination);
    give(2, { messageId: 'same' });
    expect([appends, done]).toEqual([[], [1, 2]]);
    expect(router.counts).toMatchObject({ dropped: 1, duplicates: 1 });
  });

  describe('a message whose ingest knew more of config', () => {
    const later = { config: '1' };

    test('it waits, and goes to the destination that the router reads meanwhile', async () => {
      const { give, appends, config, destinations, router } = aRouter();
      give(1, { headers: later });
      expect([appends.length, router.held.count]).toEqual([0, 1]);
      destinations.set('d2', aDestination({ id: 'd2', sources: ['s1'] }));
      config.readToEnd(1);
      await settle();
      const ids = appends.map(({ records }) => records[0]!.headers?.destination);
      expect(ids).toEqual(['d1', 'd2']);
    });

    test('messages that the router knows enough for do not wait for it', () => {
      const { give, appends } = aRouter();
      give(1, { headers: later });
      give(2, { headers: { config: '0' } });
      give(3);
      expect(appends).toHaveLength(2);
    });

    test('a copy of it is dropped, although both were held', async () => {
      const { give, appends, config, done } = aRouter();
      give(1, { messageId: 'same', headers: later });
      give(2, { messageId: 'same', headers: later });
      config.readToEnd(1);
      expect(appends).toHaveLength(1);
      appends[0]!.ack();
      await settle();
      expect(done).toEqual([2, 1]);
    });

    test('a copy whose ingest knew less waits for it, and is dropped', async () => {
      const { give, appends, config, done } = aRouter();
      give(1, { messageId: 'same', headers: later });
      give(2, { messageId: 'same', headers: { config: '0' } });
      expect(appends).toHaveLength(0);
      config.readToEnd(1);
      expect(appends).toHaveLength(1);
      appends[0]!.ack();
      await settle();
      expect(done).toEqual([2, 1]);
    });

    test('a copy of one that was handed back with its partition does not wait for it', () => {
      const { give, appends, router } = aRouter();
      give(1, { messageId: 'same', headers: later, leaving: true });
      router.onRevoking();
      give(2, { messageId: 'same' });
      expect(appends).toHaveLength(1);
    });

    test('it is decided when config was read to its end and does not reach that far', () => {
      const { give, appends, config } = aRouter();
      give(1, { headers: { config: '99' } });
      config.readToEnd();
      expect(appends).toHaveLength(1);
      // Config was cut: no later message waits for what is gone.
      give(2, { headers: { config: '99' } });
      expect(appends).toHaveLength(2);
    });
  });

  test('a message waits until the last minute before it was read back', () => {
    const { give, earlier, appends, router } = aRouter();
    earlier.known = 'unread';
    expect(give(1)).toEqual({ againInMs: expect.any(Number) as number });
    expect(appends).toHaveLength(0);
    earlier.known = 'last_minute';
    expect(give(1)).toBe('accepted');
    earlier.known = 'all';
    expect(give(2)).toBe('accepted');
    expect(appends).toHaveLength(2);
    expect(router.counts.unchecked).toBe(1);
  });

  test('a record is done when its deliveries are acknowledged, in any order', async () => {
    const { give, appends, done, router } = aRouter();
    expect([give(1), give(2)]).toEqual(['accepted', 'accepted']);
    await settle();
    expect(done).toEqual([]);
    appends[1]!.ack();
    await settle();
    expect(done).toEqual([2]);
    appends[0]!.ack();
    await settle();
    expect(done).toEqual([2, 1]);
    expect(router.counts).toEqual({
      routed: 2,
      deliveries: 2,
      duplicates: 0,
      dropped: 0,
      rejected: 0,
      unchecked: 0,
    });
  });

  describe('a copy of a message', () => {
    test('a copy is dropped once the output of the first message is acknowledged', async () => {
      const { give, appends, done, router } = aRouter();
      give(1, { messageId: 'same' });
      appends[0]!.ack();
      await settle();
      expect(give(2, { messageId: 'same' })).toBe('accepted');
      expect([done, appends.length, router.counts.duplicates]).toEqual([[1, 2], 1, 1]);
    });

    test('a message that was cut off the log is routed when it is sent again', async () => {
      const { give, appends, done, router, earlier } = aRouter();
      give(1, { messageId: 'kept' });
      give(5, { messageId: 'cut' });
      for (const { ack } of appends) ack();
      await settle();
      router.onRestart({ topic: 'messages', partition: 3, from: 5, wasCut: true });
      give(7, { messageId: 'cut' });
      give(8, { messageId: 'kept' });
      expect(earlier.forgotten).toEqual([3]);
      expect([done, appends.length, router.counts.duplicates]).toEqual([[1, 5, 8], 3, 1]);
    });

    test('a copy waits while the first may be lost, and is dropped once it cannot', async () => {
      const { give, appends, done, router } = aRouter();
      give(1, { messageId: 'same' });
      expect([give(2, { messageId: 'same' }), give(3, { messageId: 'same' })]).toEqual([
        'accepted',
        'accepted',
      ]);
      await settle();
      // If the process died with the first copy open, the next process would read all copies again:
      // none is done before the first.
      expect([appends.length, done]).toEqual([1, []]);
      appends[0]!.ack();
      await settle();
      expect([appends.length, done.sort(), router.counts.duplicates]).toEqual([1, [1, 2, 3], 2]);
    });

    test('a copy and its first message stay open on a stop before acknowledgement', async () => {
      const { give, appends, done } = aRouter();
      give(1, { messageId: 'same' });
      give(2, { messageId: 'same' });
      appends[0]!.fail(new AppError('overloaded', 'stopping', true));
      await settle();
      expect([appends.length, done]).toEqual([1, []]);
    });

    test('a copy is routed if Kafka refuses all that the first message leads to', async () => {
      const { give, appends, done, router } = aRouter();
      give(1, { messageId: 'same' });
      give(2, { messageId: 'same' });
      give(3, { messageId: 'same' });
      // The delivery, and the records that end it.
      for (const i of [0, 1, 2]) {
        appends[i]!.fail(refused());
        await settle();
      }
      const [rejection, second] = appends.slice(3);
      expect([appends.length, rejection!.records[0]!.topic, second!.records[0]!.topic]).toEqual([
        5,
        'messages.rejected',
        'webhooks',
      ]);
      rejection!.ack();
      second!.ack();
      await settle();
      expect([done.sort(), router.counts.duplicates]).toEqual([[1, 2, 3], 1]);
    });

    test('a message waits neither for itself nor for a later copy', async () => {
      const { give, appends, done } = aRouter();
      give(2, { messageId: 'same' });
      give(2, { messageId: 'same' });
      give(1, { messageId: 'same' });
      expect(appends).toHaveLength(3);
      give(3, { messageId: 'same' });
      appends[0]!.ack();
      await settle();
      expect(done).toEqual([3, 2]);
    });

    test('too many waiting copies make their partition wait until there is room', async () => {
      const { give, appends, done, state } = aRouter();
      give(0, { messageId: 'same' });
      let offset = 1;
      while (give(offset, { messageId: 'same' }) === 'accepted') offset++;
      expect(offset).toBeGreaterThan(1_000);
      appends[0]!.ack();
      await settle();
      expect([done.length, state.rooms, appends.length]).toEqual([offset, 1, 1]);
    });

    test('a record that is read twice is not a duplicate of itself', async () => {
      const { give, appends } = aRouter();
      give(1);
      appends[0]!.ack();
      await settle();
      give(1);
      expect(appends).toHaveLength(2);
    });
  });

  describe('a record that cannot be read', () => {
    test.each<[string, Parameters<ReturnType<typeof aRouter>['give']>[1], string]>([
      ['without JSON', { value: '{"type":' }, 'not JSON'],
      ['without a format', { headers: { format: '' } }, 'format'],
      ['without a time', { headers: { 'accepted-at': 'x' } }, 'accepted-at'],
    ])(
      'a record %s is written to messages.rejected with its reason, and the next record is routed',
      async (_, over, reason) => {
        const { give, appends, done, router } = aRouter();
        expect([give(1, over), give(2)]).toEqual(['accepted', 'accepted']);
        expect(appends.map((a) => a.records[0]!.topic)).toEqual(['messages.rejected', 'webhooks']);
        expect(appends[0]!.records[0]).toMatchObject({
          key: 's1',
          headers: { format: FORMAT_HEADER, source: 's1' },
        });
        expect(rejection(appends[0]!.records[0]!)).toMatchObject({
          at: new Date(NOW).toISOString(),
          source: 's1',
          code: 'unreadable_message',
          message: expect.stringContaining(reason),
        });
        appends[0]!.ack();
        await settle();
        expect(done).toEqual([1]);
        expect(router.counts.rejected).toBe(1);
      },
    );

    test('the rejected record keeps the beginning of a long text', () => {
      const { give, appends } = aRouter();
      give(1, { value: 'x'.repeat(5_000) });
      expect(rejection(appends[0]!.records[0]!)).toMatchObject({
        call: 'x'.repeat(4_096),
        truncated: true,
      });
    });

    test('it is rejected without its text if Kafka refuses that', async () => {
      const { give, appends, done } = aRouter();
      give(1, { value: 'x'.repeat(3_000) });
      appends[0]!.fail(refused());
      await settle();
      expect(rejection(appends[1]!.records[0]!)).toMatchObject({
        code: 'unreadable_message',
        call: '',
      });
      expect(done).toEqual([]);
      appends[1]!.ack();
      await settle();
      expect(done).toEqual([1]);
    });

    test('its record ends also if Kafka refuses every form of it', async () => {
      const { give, appends, done } = aRouter();
      give(1, { value: 'x'.repeat(3_000) });
      appends[0]!.fail(refused());
      await settle();
      appends[1]!.fail(refused());
      await settle();
      expect(done).toEqual([1]);
    });

    test('a record that makes routing throw is rejected alone', () => {
      const { give, appends, sources } = aRouter();
      const broken = { ...source, id: 's2' };
      Object.defineProperty(broken, 'enabled', {
        get: () => {
          throw new Error('boom');
        },
      });
      sources.set('s2', broken);
      expect(give(1, { headers: { source: 's2' } })).toBe('accepted');
      expect(rejection(appends[0]!.records[0]!).message).toContain('boom');
    });
  });

  describe('a delivery that Kafka refuses for good', () => {
    /** A router that writes a message for two destinations. */
    const aSplitMessage = () => {
      const made = aRouter();
      made.destinations.set('d2', aDestination({ id: 'd2', sources: ['s1'] }));
      made.give(1);
      return made;
    };
    const topicsOf = (appends: readonly { records: OutRecord[] }[]) =>
      appends.map(({ records }) => records.map(({ topic }) => topic).join());

    test('it ends dead as too_large, and the others of its message are written once', async () => {
      const { appends, done, router } = aSplitMessage();
      const ids = appends.map(({ records }) => records[0]!.headers!.destination);
      expect(ids).toEqual(['d1', 'd2']);
      appends[0]!.fail(refused());
      appends[1]!.ack();
      await settle();
      expect(topicsOf(appends)).toEqual(['webhooks', 'webhooks', 'attempts', 'webhooks.dead']);
      expect(appends[3]!.records[0]).toMatchObject({
        value: '',
        headers: { destination: 'd1', reason: 'too_large' },
      });
      appends[2]!.ack();
      await settle();
      expect(done).toEqual([]);
      appends[3]!.ack();
      await settle();
      expect([appends.length, done, router.counts.rejected]).toEqual([4, [1], 0]);
    });

    test('its message is set aside only once the others of the message are written', async () => {
      const { appends, done } = aSplitMessage();
      appends[0]!.fail(refused());
      await settle();
      appends[2]!.ack();
      appends[3]!.fail(refused());
      await settle();
      expect(appends).toHaveLength(4);
      appends[1]!.ack();
      await settle();
      expect(topicsOf(appends.slice(4))).toEqual(['messages.rejected']);
      appends[4]!.ack();
      await settle();
      expect(done).toEqual([1]);
    });

    test.each([
      ['before others are written', 1],
      ['before its end is written', 2],
    ])('its record stays open if the process stops %s', async (_, stopped) => {
      const { appends, done } = aSplitMessage();
      appends[0]!.fail(refused());
      await settle();
      appends[stopped]!.fail(new AppError('overloaded', 'stopping', true));
      appends[1]!.ack();
      appends[3]!.fail(refused());
      await settle();
      expect([topicsOf(appends.slice(4)), done]).toEqual([[], []]);
    });
  });

  test('a stopping process leaves records open that it could not write', async () => {
    const { give, appends, done } = aRouter();
    give(1);
    give(2, { value: '' });
    for (const append of appends) {
      append.fail(new AppError('overloaded', 'this process is stopping', true));
    }
    await settle();
    expect([done, appends.length]).toEqual([[], 2]);
  });

  test('a record in a newer format stops the process, which then takes no record', () => {
    const { give, appends, done, fatal } = aRouter();
    expect(give(7, { headers: { format: '9' } })).toBe('busy');
    expect(fatal).toEqual([expect.objectContaining({ code: 'newer_format' })]);
    expect(String(fatal[0])).toMatch(/partition 3, offset 7.*format 9.*Upgrade/);
    expect(give(8)).toBe('busy');
    expect([appends, done, fatal.length]).toEqual([[], [], 1]);
  });

  test('the router is busy above its limit, and resumes below half of it', async () => {
    const { give, appends, state } = aRouter();
    const MIB = 1024 * 1024;
    give(1);
    give(2);
    state.pendingBytes = 16 * MIB;
    expect(give(3)).toBe('busy');
    state.pendingBytes = 9 * MIB;
    appends[0]!.ack();
    await settle();
    expect(state.rooms).toBe(0);
    state.pendingBytes = 7 * MIB;
    appends[1]!.ack();
    await settle();
    expect(state.rooms).toBe(1);
    expect(give(3)).toBe('accepted');
    appends[2]!.ack();
    await settle();
    expect(state.rooms).toBe(1);
  });

  describe('a message without a destination in config', () => {
    const unknown = { headers: { source: 's2' } };
    const UNROUTED = JSON.stringify({
      type: 'track',
      event: 'e',
      messageId: 'm',
      timestamp: AT,
      userId: 'u',
    });
    // The clock stands still: the router leaves messages in Kafka once it has held others for
    // seconds.
    let clock: jest.SpyInstance<number>;
    beforeEach(() => (clock = jest.spyOn(performance, 'now').mockReturnValue(performance.now())));
    afterEach(() => clock.mockRestore());
    /** Gives messages of an unknown source until no more are taken. They are large, to be few. */
    const holdAll = (give: ReturnType<typeof aRouter>['give']): number => {
      const large = { ...unknown, value: UNROUTED.padEnd(8 * 1024) };
      let offset = 1;
      while (give(offset, large) === 'accepted') offset++;
      expect(offset).toBeGreaterThan(100);
      return offset - 1;
    };

    test.each<[string, (router: ReturnType<typeof aRouter>) => void, object]>([
      ['its source is not known', () => undefined, unknown],
      ['its source is off', ({ sources }) => sources.set('s1', { ...source, enabled: false }), {}],
      [
        'its destination is off',
        ({ destinations }) => destinations.set('d1', { ...destination, enabled: false }),
        {},
      ],
      ['there is no destination', ({ destinations }) => destinations.clear(), {}],
    ])(
      'a message without a destination is dropped only after config was read to its end: %s',
      (_, prepare, over) => {
        const made = aRouter();
        const { give, appends, done, config, router } = made;
        config.readToEnd();
        prepare(made);
        expect([give(1, over), give(2, over)]).toEqual(['accepted', 'accepted']);
        expect([done, router.counts.dropped]).toEqual([[], 0]);
        config.readToEnd();
        expect([done, appends.length, router.counts.dropped]).toEqual([[1, 2], 0, 2]);
      },
    );

    test('a held message is routed before later ones when its destination appears', () => {
      const { give, appends, destinations, config, done } = aRouter();
      destinations.clear();
      give(1);
      destinations.set('d1', destination);
      config.readToEnd(1);
      give(2);
      expect(appends.map(({ records }) => records[0]!.headers!.message)).toEqual(['m1', 'm2']);
      expect(done).toEqual([]);
    });

    test.each<[string, (body: string) => Record<string, string>]>([
      ['that is parsed', () => ({})],
      ['whose body is cut off', (body) => ({ body, event: 'e' })],
    ])('a held message %s keeps copies, not the fetch that contains it', (_, headersOf) => {
      const { give, appends, destinations, config } = aRouter();
      destinations.clear();
      const { value, body = '' } = writeMessage({
        type: 'track',
        event: 'e',
        messageId: 'm1',
        timestamp: AT,
        receivedAt: AT,
        userId: 'u',
      });
      const fetched = { key: Buffer.from('s1:u'), value: Buffer.from(value) };
      const headers = headersOf(body);
      const notHeld = aRouter();
      notHeld.give(1, { ...fetched, headers });
      give(1, { ...fetched, headers });
      fetched.key.fill(0);
      fetched.value.fill(0);
      destinations.set('d1', destination);
      config.readToEnd(1);
      const [record] = appends[0]!.records;
      expect(JSON.parse(String(record!.value))).toMatchObject({ event: 'e', userId: 'u' });
      expect(record).toEqual(notHeld.appends[0]!.records[0]);
    });

    test('a message is held while Kafka cannot be read, and others pass', () => {
      const { give, appends, done, config } = aRouter();
      config.readToEnd();
      expect([give(1, unknown), give(2)]).toEqual(['accepted', 'accepted']);
      appends[0]!.ack();
      expect(done).toEqual([]);
      return settle().then(() => expect(done).toEqual([2]));
    });

    test('a partition pauses while too many messages are held, and continues afterwards', () => {
      const { give, done, config } = aRouter();
      const held = holdAll(give);
      expect(give(held + 1, unknown)).toEqual({ againInMs: expect.any(Number) });
      config.readToEnd();
      expect(done).toHaveLength(held);
      expect(give(held + 1, unknown)).toBe('accepted');
    });

    test('large messages that are held take no more memory than small ones', () => {
      const { give } = aRouter();
      const value = ' '.repeat(8 * 1024);
      let held = 0;
      while (give(held + 1, { ...unknown, value: UNROUTED + value }) === 'accepted') held++;
      expect(held * value.length).toBeGreaterThan(1024 * 1024);
      expect(held * value.length).toBeLessThan(64 * 1024 * 1024);
    });

    test('a message is deferred if too many are held for seconds, until config was read', () => {
      const { give, appends, done, deferred, state, config, router } = aRouter();
      const held = holdAll(give);
      clock.mockReturnValue(performance.now() + 10_000);
      expect([give(held + 1, unknown), give(held + 2, unknown), give(held + 3)]).toEqual([
        'accepted',
        'accepted',
        'accepted',
      ]);
      expect([deferred, appends.length, router.held.count]).toEqual([
        [held + 1, held + 2],
        1,
        held,
      ]);
      expect(router.held.oldestMs).toBeGreaterThan(9_000);
      expect([done.length, state.decidable]).toEqual([0, 0]);
      config.readToEnd();
      expect([done.length, state.decidable]).toEqual([held, 1]);
      config.readToEnd();
      expect(state.decidable).toBe(1);
    });

    test('a copy of a deferred message is deferred, too, and both are routed once', () => {
      const { give, appends, deferred, sources, destinations, config } = aRouter();
      const copy = { ...unknown, messageId: 'same' };
      const held = holdAll(give);
      clock.mockReturnValue(performance.now() + 10_000);
      give(held + 1, copy);
      sources.set('s2', { ...source, id: 's2' });
      destinations.set('d1', aDestination({ id: 'd1', sources: ['s2'] }));
      expect([give(held + 2, copy), give(held + 3, unknown)]).toEqual(['accepted', 'accepted']);
      const routed = () => appends.map(({ records }) => records[0]!.headers!.message);
      expect([deferred, routed()]).toEqual([[held + 1, held + 2], [`m${held + 3}`]]);
      config.readToEnd(1);
      give(held + 1, copy);
      give(held + 2, copy);
      expect(routed().filter((id) => id === 'same')).toHaveLength(1);
      expect(deferred).toHaveLength(2);
    });

    test('a held message is handed back with its partition', () => {
      const { give, released, router, done, config } = aRouter();
      give(1, { ...unknown, leaving: true });
      give(2, unknown);
      router.onRevoking();
      config.readToEnd();
      expect([released, done]).toEqual([[1], [2]]);
    });

    test('a held message is deferred at a rebalance if its commit metadata lacks room', () => {
      const { give, deferred, router, state } = aRouter();
      state.releasable = 0;
      give(1, { ...unknown, leaving: true });
      router.onRevoking();
      expect(deferred).toEqual([1]);
      expect(router.held.count).toBe(0);
    });

    test.each<[string, Partial<Source> | undefined]>([
      ['it is not known at all', undefined],
      ['it was off by its last record that can be read', { enabled: false }],
      ['it blocked the event by its last record that can be read', { blockedEvents: ['e'] }],
    ])(
      'a message is deferred while the last record of its source cannot be read: %s',
      (_, before) => {
        const { give, done, deferred, sources, unreadable, config, state, router } = aRouter();
        if (before) sources.set('s2', { ...source, id: 's2', ...before });
        unreadable.add('s2');
        expect(give(1, unknown)).toBe('accepted');
        config.readToEnd();
        config.readToEnd(1);
        expect([done, deferred, router.held.count, state.decidable]).toEqual([[], [1], 0, 0]);
        unreadable.delete('s2');
        config.readToEnd(1);
        expect(state.decidable).toBe(1);
      },
    );

    test('a message is deferred while a destination that may want it cannot be read', () => {
      const { give, done, deferred, appends, unreadable, config, state } = aRouter();
      unreadable.add('d2');
      expect([give(1), give(2, unknown)]).toEqual(['accepted', 'accepted']);
      config.readToEnd();
      // A message of another source is decided.
      expect([deferred, done, appends.length, state.decidable]).toEqual([[1], [2], 0, 0]);
      unreadable.delete('d2');
      config.readToEnd(1);
      expect(state.decidable).toBe(1);
    });

    test.each<[string, Source | undefined]>([
      ['deleted', undefined],
      ['disabled', { ...source, enabled: false }],
    ])(
      'a message deferred for an unreadable destination is dropped after its source is %s',
      (_, after) => {
        const { give, done, deferred, sources, unreadable, config, state } = aRouter();
        unreadable.add('d2');
        give(1);
        config.readToEnd();
        expect([deferred, done, state.decidable]).toEqual([[1], [], 0]);
        if (after) sources.set('s1', after);
        else sources.delete('s1');
        config.readToEnd(1);
        expect(state.decidable).toBe(1);
        give(1);
        config.readToEnd(2);
        expect([deferred, done]).toEqual([[1], [1]]);
      },
    );

    test('a message without a destination is dropped even if its source is unreadable', () => {
      const { give, done, destinations, unreadable, config } = aRouter();
      destinations.clear();
      unreadable.add('s1');
      give(1);
      config.readToEnd();
      expect(done).toEqual([1]);
    });
  });
});
