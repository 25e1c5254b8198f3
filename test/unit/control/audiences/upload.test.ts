import { Readable } from 'node:stream';
import { uploadHandlers } from '../../../../services/control/audiences/member-routes';
import { type OutRecord } from '../../../../shared/kafka/port';
import { AppError } from '../../../../shared/runtime/errors';

/** An upload whose end reaches a part of the partitions only. */

test('an upload that fails at its end is known before, and its answer says to repeat it', async () => {
  let audience: { upload?: object } = {};
  const isEnd = ({ value }: OutRecord) => String(value).includes('"uploaded"');
  const handlers = uploadHandlers({
    entries: {
      get: () => ({ data: audience }),
      change: (_kind: string, _at: object, next: (from: object) => object) => {
        audience = next(audience);
        return Promise.resolve();
      },
    },
    kafka: { ranges: () => Promise.resolve([{ partition: 0, low: 0, high: 7 }]) },
    producer: {
      send: (records: OutRecord[]) =>
        records.some(isEnd)
          ? Promise.reject(new AppError('kafka_unavailable', 'Partition 1 has no leader', true))
          : Promise.resolve(),
    },
    now: () => new Date(5),
    log: { info: () => undefined },
  } as never);
  const call = { id: 'aud_1', by: {}, req: Readable.from([Buffer.from('"ann"\n')]) };
  await expect(handlers['PUT /audiences/{id}/members'](call as never)).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringContaining('upload the same again'),
  });
  expect(audience.upload).toEqual({ number: 5, full: true, lines: 1 });
});
