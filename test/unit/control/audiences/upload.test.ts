import { Readable } from 'node:stream';
import { uploadHandlers } from '../../../../services/control/audiences/member-routes';
import { type OutRecord } from '../../../../shared/kafka/port';
import { AppError } from '../../../../shared/runtime/errors';

/** Uploads that go wrong at their end. */

const isEnd = ({ value }: OutRecord) => String(value).includes('"uploaded"');

/** @param send writes records */
function anUpload(send: (records: OutRecord[]) => Promise<void>) {
  const stored: { upload?: object } = {};
  const handlers = uploadHandlers({
    entries: {
      get: () => ({ data: stored }),
      change: (_kind: string, _at: object, next: (from: object) => object) => {
        Object.assign(stored, next(stored));
        return Promise.resolve();
      },
    },
    kafka: { ranges: () => Promise.resolve([{ partition: 0, low: 0, high: 7 }]) },
    producer: { send },
    now: () => new Date(5),
    log: { info: () => undefined },
  } as never);
  const upload = (stillAllowed: () => boolean) => {
    const req = Readable.from([Buffer.from('"ann"\n')]);
    const call = { id: 'aud_1', by: {}, req, stillAllowed };
    return handlers['PUT /audiences/{id}/members'](call as never);
  };
  return { stored, upload };
}

test('an upload that fails at its end is known before, and its answer says to repeat it', async () => {
  const { stored, upload } = anUpload((records) =>
    records.some(isEnd)
      ? Promise.reject(new AppError('kafka_unavailable', 'Partition 1 has no leader', true))
      : Promise.resolve(),
  );
  await expect(upload(() => true)).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringContaining('upload the same again'),
  });
  expect(stored.upload).toEqual({ number: 5, full: true, lines: 1 });
});

test('an upload during which its token ended changes nothing', async () => {
  const written: OutRecord[] = [];
  const { stored, upload } = anUpload((records) => {
    written.push(...records);
    return Promise.resolve();
  });
  await expect(upload(() => false)).rejects.toMatchObject({ code: 'unauthorized' });
  expect([stored.upload, written.filter(isEnd)]).toEqual([undefined, []]);
});
