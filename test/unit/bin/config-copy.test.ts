import { Readable } from 'node:stream';
import { restore } from '../../../bin/config-copy';
import { FORMAT } from '../../../shared/model/record-format';
import { AppError } from '../../../shared/runtime/errors';
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

test('nothing of a partial copy is written, so that it can be restored once whole', async () => {
  const memory = memoryLog();
  const broken = Readable.from([whole.slice(0, -5)]);
  await expect(restore(memory.kafka, broken)).rejects.toThrow('Line 1200 is no record of config.');
  expect(memory.records('config')).toEqual([]);
});

test('a restore that Kafka interrupts goes on where it broke off', async () => {
  const memory = memoryLog();
  const away = new AppError('kafka_unavailable', 'Kafka is away', true);
  memory.onAppend(() => memory.failWith(away));
  await expect(restore(memory.kafka, Readable.from([whole]))).rejects.toThrow('Kafka is away');
  expect(memory.records('config')).toHaveLength(500);
  memory.onAppend(() => undefined);
  memory.failWith(undefined);
  expect(await restore(memory.kafka, Readable.from([whole]))).toBe(1_200);
  expect(memory.records('config').map(({ key }) => String(key))).toEqual(
    Array.from({ length: 1_200 }, (_, i) => `token:${String(i)}`),
  );
});

test('a restore goes on behind records that Kafka has twice because of a lost answer', async () => {
  const memory = memoryLog();
  for (const i of [0, 1, 0, 1]) {
    const { key, value } = JSON.parse(lineOf(i)) as { key: string; value: string };
    memory.append([{ topic: 'config', key, value }]);
  }
  expect(await restore(memory.kafka, Readable.from([whole]))).toBe(1_200);
  expect(memory.records('config').map(({ key }) => String(key))).toEqual([
    'token:0',
    'token:1',
    ...Array.from({ length: 1_200 }, (_, i) => `token:${String(i)}`),
  ]);
});

test.each([
  ['has another entry', [lineOf(0), lineOf(7)]],
  ['lost an entry', [lineOf(1)]],
  ['has more entries than the copy', [lineOf(0), lineOf(1), lineOf(2), lineOf(3)]],
])('a copy is not restored into a system that %s', async (_, present) => {
  const memory = memoryLog();
  const append = (line: string) => {
    const { key, value } = JSON.parse(line) as { key: string; value: string };
    memory.append([{ topic: 'config', key, value }]);
  };
  present.forEach(append);
  const copy = Readable.from([[lineOf(0), lineOf(1), lineOf(2)].join('\n')]);
  await expect(restore(memory.kafka, copy)).rejects.toThrow('Topic config is not empty');
  expect(memory.records('config')).toHaveLength(present.length);
});
