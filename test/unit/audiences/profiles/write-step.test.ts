import { type Profile } from '../../../../services/audiences/profiles/profile';
import { refused, writeStep } from '../../../../services/audiences/profiles/write-step';
import { type OutRecord } from '../../../../shared/kafka/port';
import { AppError } from '../../../../shared/service/errors';
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
  const writing = (producer: { send: (records: OutRecord[]) => Promise<void> }, store: MemoryStore) => {
    const refusals: number[] = [];
    return {
      ...{ producer, partition: 0, before: (user: string) => store.get(user) },
      onRefused: (_: AppError, bytes: number) => refusals.push(bytes),
      refusals,
    };
  };
  const profile = (bytes: number): Profile => ({ t: { s: { plan: ['pro', NOW], long: ['x'.repeat(bytes), NOW] } } });

  it('is written without the user whose profile is too large: that user keeps the earlier profile, marked as full', async () => {
    const { engine, store, records } = engineUnderTest();
    store.profiles.set('ann', JSON.stringify(profile(400)));
    const step = engine.apply(
      [...records('ann', [identify({ more: 'y'.repeat(200) })]), ...records('bob', [identify({ plan: 'pro' })])],
      NOW,
    );
    const { producer, written } = broker(600);
    const how = writing(producer, store);
    const { step: done } = await writeStep(step, how);
    expect(done.profiles.get('ann')).toEqual({ ...profile(400), f: 1 });
    expect(written.get('uann')).toBe(JSON.stringify({ ...profile(400), f: 1 }));
    expect(written.get('ubob')).toContain('"plan"');
    expect(written.has('m')).toBe(true);
    expect(how.refusals).toHaveLength(1);
  });

  it('keeps the values sent to receivers if Kafka refuses even the earlier profile', async () => {
    const { engine, store, records } = engineUnderTest();
    const told = { aud_1: [true, NOW, 1] as [boolean, number, number] };
    store.profiles.set('ann', JSON.stringify({ ...profile(900), s: told }));
    const step = engine.apply(records('ann', [identify({ plan: 'free' })]), NOW + 1);
    const { producer, written } = broker(600);
    await writeStep(step, writing(producer, store));
    expect(JSON.parse(written.get('uann')!)).toEqual({ s: told, f: 1 });
  });

  it('keeps a profile that is too large to move under its id', async () => {
    const { engine, store, records } = engineUnderTest();
    store.profiles.set('ann', JSON.stringify(profile(560)));
    store.profiles.set('bob', JSON.stringify(profile(10)));
    const step = engine.apply(
      [...records('ann', [{ kind: 'alias', to: 'cyn' }]), ...records('bob', [{ kind: 'alias', to: 'dan' }])],
      NOW,
    );
    const { producer, written, moved } = broker(650);
    const { step: done } = await writeStep(step, writing(producer, store));
    expect([done.moves.map(({ user }) => user), moved]).toEqual([['dan'], ['dan']]);
    expect(JSON.parse(written.get('uann')!)).toEqual({ ...profile(560), f: 1 });
    expect(written.get('ubob')).toBeNull();
  });

  it('ends the process if Kafka refuses every record, since no single user causes it', async () => {
    const { engine, store, records } = engineUnderTest();
    const step = engine.apply(records('ann', [identify({ plan: 'pro' })]), NOW);
    const how = writing(broker(0).producer, store);
    await expect(writeStep(step, how)).rejects.toMatchObject({ code: 'kafka_unavailable' });
  });

  it('is retried as a whole if the refusal is temporary', async () => {
    const busy = new AppError('overloaded', 'this process is stopping', true);
    const { engine, store, records } = engineUnderTest();
    const step = engine.apply(records('ann', [identify({ plan: 'pro' })]), NOW);
    const how = writing({ send: () => Promise.reject(busy) }, store);
    await expect(writeStep(step, how)).rejects.toBe(busy);
    await expect(refused([{ topic: 'messages', key: null, value: 'x' }], how)).rejects.toBe(busy);
  });
});
