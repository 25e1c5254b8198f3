import { Readable } from 'node:stream';
import { type Profile } from '../../../../services/audiences/profiles/profile';
import { uploadHandlers } from '../../../../services/control/audiences/member-routes';
import { type OutRecord } from '../../../../shared/kafka/port';
import { AppError } from '../../../../shared/runtime/errors';
import { PROFILE_EVENTS } from '../../../../shared/kafka/topics';
import { ofAudience, Definitions } from '../../../../services/audiences/definitions/compile';
import { decodeEvent } from '../../../../services/audiences/repartition/event';
import { anAudience } from '../../../support/factories';
import { memoryLog } from '../../../support/memory-log';
import { engineUnderTest, NOW } from '../../audiences/engine-under-test';

const isEnd = ({ value }: OutRecord) => String(value).includes('"uploaded"');

/** The configuration of an audience, which all control processes change. */
function audienceEntry() {
  const at: { audience: { upload?: object; condition?: string } } = { audience: {} };
  const entries = {
    get: () => ({ data: at.audience }),
    change: (_kind: string, _at: object, next: (from: object) => object) => {
      at.audience = next(at.audience);
      return Promise.resolve();
    },
  };
  return { at, entries };
}

const callWith = (req: Readable, isAllowed = true) =>
  ({ id: 'aud_l', by: {}, req, stillAllowed: () => isAllowed }) as never;

/** @param send writes records */
function anUpload(send: (records: OutRecord[]) => Promise<void>) {
  const { at, entries } = audienceEntry();
  const handlers = uploadHandlers({
    entries,
    kafka: { ranges: () => Promise.resolve([{ partition: 0, low: 0, high: 7 }]) },
    producer: { send },
    now: () => new Date(5),
    log: { info: () => undefined },
  } as never);
  const upload = (isAllowed: boolean) => {
    const body = Readable.from([Buffer.from('"ann"\n')]);
    return handlers['PUT /audiences/{id}/members'](callWith(body, isAllowed));
  };
  return { at, upload };
}

test('an upload failing at its end is known before, and its answer says to repeat it', async () => {
  const { at, upload } = anUpload((records) =>
    records.some(isEnd)
      ? Promise.reject(new AppError('kafka_unavailable', 'Partition 1 has no leader', true))
      : Promise.resolve(),
  );
  await expect(upload(true)).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringContaining('upload the same again'),
  });
  expect(at.audience.upload).toEqual({ number: 5, full: true, lines: 1 });
});

test('an upload during which its token ended changes nothing', async () => {
  const written: OutRecord[] = [];
  const { at, upload } = anUpload((records) => {
    written.push(...records);
    return Promise.resolve();
  });
  await expect(upload(false)).rejects.toMatchObject({ code: 'unauthorized' });
  expect([at.audience.upload, written.filter(isEnd)]).toEqual([undefined, []]);
});

test('an upload to an audience that got a condition meanwhile changes nothing', async () => {
  const written: OutRecord[] = [];
  const { at, upload } = anUpload((records) => {
    written.push(...records);
    at.audience = { condition: 'true' };
    return Promise.resolve();
  });
  await expect(upload(true)).rejects.toMatchObject({ code: 'conflict' });
  expect([at.audience, written.filter(isEnd)]).toEqual([{ condition: 'true' }, []]);
});

test('of uploads begun by two processes in one millisecond, the last to end counts', async () => {
  const memory = memoryLog();
  const producer = await memory.kafka.producer({ maxPendingBytes: 1, deliveryTimeoutMs: 'retry' });
  const { entries } = audienceEntry();
  const upload = () => {
    const body = new Readable({ read: () => undefined });
    const { kafka } = memory;
    const log = { info: () => undefined };
    const handlers = uploadHandlers({
      entries,
      kafka,
      producer,
      now: () => new Date(NOW),
      log,
    } as never);
    const ended = handlers['PUT /audiences/{id}/members'](callWith(body));
    return async (line: string) => {
      body.push(line);
      body.push(null);
      return ended;
    };
  };
  const [first, last] = [upload(), upload()];
  await first('"ann"\n');
  await last('"bob"\n');

  const definition = ofAudience(anAudience({ id: 'aud_l' }), () => undefined);
  const { engine, store } = engineUnderTest(new Definitions([definition]));
  const records = memory.records(PROFILE_EVENTS).flatMap((record) => decodeEvent(record) ?? []);
  engine.commit(engine.apply(records, NOW));
  for (let ended = engine.upload; ended; ended = engine.upload) {
    engine.commit(engine.list(ended, records.slice(ended.from, ended.to), NOW));
    engine.commit(engine.listed(ended, NOW));
  }
  const isMember = (user: string) =>
    definition.value(store.get(user) as Profile, NOW, engine.meta.defs.aud_l!.since);
  expect([isMember('ann'), isMember('bob')]).toEqual([false, true]);
});
