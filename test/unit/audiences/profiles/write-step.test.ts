import { type Profile } from '../../../../services/audiences/profiles/profile';
import {
  decodeProfile,
  encodeProfile,
} from '../../../../services/audiences/profiles/profile-codec';
import { refused, StepWriter, writeStep } from '../../../../services/audiences/profiles/write-step';
import { type Definition, Definitions } from '../../../../services/audiences/definitions/compile';
import { type OutRecord } from '../../../../shared/kafka/port';
import { AppError } from '../../../../shared/runtime/errors';
import { createLog } from '../../../../shared/telemetry/log';
import { type MemoryStore } from '../memory-store';
import { engineUnderTest, identify, NOW } from '../engine-under-test';

describe('a step that Kafka refuses', () => {
  const tooLarge = new AppError('overloaded', 'a record is larger than the broker takes', false);
  /** Accepts records up to `limit` bytes. The error of a batch does not name the refused record. */
  function broker(limit: number) {
    const written = new Map<string, string | null>();
    const moved: string[] = [];
    const send = (records: OutRecord[]) => {
      for (const { key, value, topic } of records) {
        if ((value?.length ?? 0) > limit) return Promise.reject(tooLarge);
        if (topic === 'profiles') written.set(key!, value && value.toString());
        else moved.push(key!);
      }
      return Promise.resolve();
    };
    return { producer: { send }, written, moved };
  }
  const writing = (
    producer: { send: (records: OutRecord[]) => Promise<void> },
    store: MemoryStore,
  ) => {
    const refusals: number[] = [];
    return {
      producer,
      partition: 0,
      before: (user: string) => store.get(user),
      onRefused: (_: AppError, bytes: number) => refusals.push(bytes),
      refusals,
    };
  };
  const decoded = (text: string) => decodeProfile(Buffer.from(text));
  const profile = (bytes: number): Profile => ({
    traits: { s: { plan: ['pro', NOW], long: ['x'.repeat(bytes), NOW] } },
  });

  test('leaves out a user with too large a profile, whose earlier one is marked full', async () => {
    const { engine, store, records } = engineUnderTest();
    store.put('ann', profile(400));
    const step = engine.apply(
      [
        ...records('ann', [identify({ more: 'y'.repeat(200) })]),
        ...records('bob', [identify({ plan: 'pro' })]),
      ],
      NOW,
    );
    const { producer, written } = broker(600);
    const how = writing(producer, store);
    const { step: done } = await writeStep(step, how);
    expect(done.profiles.get('ann')).toEqual({ ...profile(400), full: 1 });
    expect(written.get('uann')).toBe(encodeProfile({ ...profile(400), full: 1 }).toString());
    expect(written.get('ubob')).toContain('"plan"');
    expect(written.has('m')).toBe(true);
    expect(how.refusals).toHaveLength(1);
  });

  test('keeps the values sent to receivers if Kafka refuses even the earlier profile', async () => {
    const { engine, store, records } = engineUnderTest();
    const told = { aud_1: [true, NOW, 1] as [boolean, number, number] };
    store.put('ann', { ...profile(900), sentValues: told });
    const step = engine.apply(records('ann', [identify({ plan: 'free' })]), NOW + 1);
    const { producer, written } = broker(600);
    await writeStep(step, writing(producer, store));
    expect(decoded(written.get('uann')!)).toEqual({ sentValues: told, full: 1 });
  });

  test('keeps a profile that is too large to move under its id', async () => {
    const { engine, store, records } = engineUnderTest();
    store.put('ann', profile(560));
    store.put('bob', profile(10));
    const step = engine.apply(
      [
        ...records('ann', [{ kind: 'alias', to: 'cyn' }]),
        ...records('bob', [{ kind: 'alias', to: 'dan' }]),
      ],
      NOW,
    );
    const { producer, written, moved } = broker(650);
    const { step: done } = await writeStep(step, writing(producer, store));
    expect([done.moves.map(({ user }) => user), moved]).toEqual([['dan'], ['dan']]);
    expect(decoded(written.get('uann')!)).toEqual({ ...profile(560), full: 1 });
    expect(written.get('ubob')).toBeNull();
  });

  test('ends the process if Kafka refuses every record: no single user causes it', async () => {
    const { engine, store, records } = engineUnderTest();
    const step = engine.apply(records('ann', [identify({ plan: 'pro' })]), NOW);
    const how = writing(broker(0).producer, store);
    await expect(writeStep(step, how)).rejects.toMatchObject({ code: 'kafka_unavailable' });
  });

  test('is retried as a whole if the refusal is temporary', async () => {
    const busy = new AppError('overloaded', 'this process is stopping', true);
    const { engine, store, records } = engineUnderTest();
    const step = engine.apply(records('ann', [identify({ plan: 'pro' })]), NOW);
    const how = writing({ send: () => Promise.reject(busy) }, store);
    await expect(writeStep(step, how)).rejects.toBe(busy);
    await expect(refused([{ topic: 'messages', key: null, value: 'x' }], how)).rejects.toBe(busy);
  });
});

describe('the writer of steps', () => {
  const audience: Definition = {
    id: 'aud_1',
    revision: 1,
    kind: 'audience',
    name: 'All',
    key: 'all',
    source: 'src_1',
    syncEveryMs: 1_000,
    history: [],
    counters: [],
    nothing: false,
    value: () => true,
  };
  /** A writer that records its writes in order: topics, and `store`. */
  function writerUnderTest() {
    const definitions = new Definitions([audience]);
    const { engine, store, records } = engineUnderTest(definitions);
    const writes: string[] = [];
    const messages: OutRecord[] = [];
    const state = { isLost: false, isLostAfterSend: false, isOvertaken: false };
    const commit = engine.commit.bind(engine);
    engine.commit = (step) => {
      writes.push('store');
      commit(step);
    };
    const send = (out: OutRecord[]) => {
      writes.push(...new Set(out.map(({ topic }) => topic)));
      messages.push(...out.filter(({ topic }) => topic === 'messages'));
      state.isLost ||= state.isLostAfterSend;
      return Promise.resolve();
    };
    const writer = new StepWriter(
      {
        store: {
          get: (user) => store.get(user),
          unsent: (after) =>
            [...store.unsent].flatMap(([sequence, [user, definition]]) =>
              sequence > after ? [{ sequence, user, definition }] : [],
            ),
          sent: () => writes.push('sent'),
        },
        engine,
      },
      {
        producer: { send },
        partition: 0,
        definitions: () => definitions,
        isLost: () => state.isLost,
        isOvertaken: () => Promise.resolve(state.isOvertaken),
        log: createLog('test', 'silent'),
      },
    );
    return { writer, engine, store, records, writes, messages, state };
  }

  test('writes moves before the changelog, then the store, and messages last', async () => {
    const { writer, engine, records, writes } = writerUnderTest();
    const seen = [
      ...records('ann', [identify({ plan: 'pro' })]),
      ...records('bob', [{ kind: 'alias', to: 'cyn' }]),
    ];
    expect(await writer.write(engine.apply(seen, NOW))).toBe(true);
    expect(writes.splice(0)).toEqual(['profiles.events', 'profiles', 'store']);
    expect(
      await writer.write(engine.sync({ ids: ['aud_1'], end: engine.lastTouch }, NOW, 10)),
    ).toBe(true);
    expect(writes).toEqual(['profiles', 'store', 'messages', 'sent']);
    expect(await writer.write(undefined)).toBe(false);
  });

  test('leaves the store unchanged if the partition is lost while Kafka acknowledges', async () => {
    const { writer, engine, store, records, writes, state } = writerUnderTest();
    state.isLostAfterSend = true;
    expect(await writer.write(engine.apply(records('ann', [identify({ plan: 'pro' })]), NOW))).toBe(
      false,
    );
    expect([writes, store.get('ann')]).toEqual([['profiles'], undefined]);
    expect(await writer.write(engine.apply(records('ann', [identify({ plan: 'pro' })]), NOW))).toBe(
      false,
    );
    expect(writes).toEqual(['profiles']);
  });

  test('leaves a value to another process once that has a later term, and sends none', async () => {
    const { writer, engine, records, messages, state } = writerUnderTest();
    await writer.write(engine.apply(records('ann', [identify({ plan: 'pro' })]), NOW));
    state.isOvertaken = true;
    await writer.write(engine.sync({ ids: ['aud_1'], end: engine.lastTouch }, NOW, 10));
    expect([messages, engine.meta.told, engine.meta.sent]).toEqual([[], 1, 0]);
  });

  test('a value that is sent again is not newer than a deletion since', async () => {
    const { writer, engine, store, messages } = writerUnderTest();
    store.put('kim', { sentValues: { aud_1: [true, NOW - 5_000, 1] } });
    store.unsent.set(1, ['kim', 'aud_1']);
    engine.meta = { ...engine.meta, told: 1 };
    await writer.sendUnsent();
    expect(messages.map(({ headers }) => headers?.['accepted-at'])).toEqual([String(NOW - 5_000)]);
  });

  test('resends unacknowledged messages, but only the last value of each user', async () => {
    const { writer, engine, store, messages, writes } = writerUnderTest();
    store.put('ann', { sentValues: { aud_1: [true, NOW, 3] } });
    store.put('bob', { sentValues: { aud_1: [false, NOW - 1, 2] } });
    store.unsent.set(1, ['ann', 'aud_1']).set(2, ['bob', 'aud_1']).set(3, ['ann', 'aud_1']);
    engine.meta = { ...engine.meta, told: 3 };
    await writer.sendUnsent();
    const sent = messages.map(
      ({ value }) => JSON.parse(String(value)) as { userId: string; traits: object },
    );
    expect(sent.map(({ userId, traits }) => [userId, traits])).toEqual([
      ['bob', { all: false }],
      ['ann', { all: true }],
    ]);
    expect([engine.meta.sent, writes.at(-1)]).toEqual([3, 'sent']);
  });
});
