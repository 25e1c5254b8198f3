import { Readable } from 'node:stream';
import { restore } from '../../../bin/config-copy';
import { FORMAT } from '../../../shared/model/record-format';
import { memoryLog } from '../../support/memory-log';

const lineOf = (i: number) =>
  JSON.stringify({ key: `token:${String(i)}`, value: `{"format":${FORMAT}}` });
/** More than are written at once. */
const whole = Array.from({ length: 1_200 }, (_, i) => lineOf(i)).join('\n');

test('a copy is restored in its order', async () => {
  const memory = memoryLog();
  expect(await restore(memory.kafka, Readable.from([whole]))).toBe(1_200);
  expect(memory.records('config').map(({ key }) => String(key))).toEqual(
    Array.from({ length: 1_200 }, (_, i) => `token:${String(i)}`),
  );
});

test('nothing of a copy that breaks off is written, so that it can be restored once it is whole', async () => {
  const memory = memoryLog();
  const broken = Readable.from([whole.slice(0, -5)]);
  await expect(restore(memory.kafka, broken)).rejects.toThrow('Line 1200 is no record of config.');
  expect(memory.records('config')).toEqual([]);
});
