import pino from 'pino';
import { RecordWaiter } from '../../../shared/kafka/wait-for-record';
import { AppError } from '../../../shared/service/errors';
import { type Kafka } from '../../../shared/kafka/port';
import { eventually } from '../../support/eventually';
import { memoryLog } from '../../support/memory-log';

/** Hears what is appended to a topic while somebody listens, and leaves Kafka alone otherwise. */

const log = pino({ level: 'silent' });

function listeningUnderTest() {
  const memory = memoryLog();
  let reads = 0;
  let away = false;
  const refuse = () => Promise.reject(new AppError('kafka_unavailable', 'away', true));
  const kafka: Pick<Kafka, 'ranges' | 'read'> = {
    ranges: (topic) => (away ? refuse() : memory.kafka.ranges(topic)),
    read: (at) => {
      reads++;
      return away ? refuse() : memory.kafka.read(at);
    },
  };
  const append = (key: string, value: string) => memory.append([{ topic: 'attempts', key, value }]);
  return {
    listening: new RecordWaiter('attempts', kafka, log),
    append,
    reads: () => reads,
    setAway: (now: boolean) => (away = now),
  };
}

it('passes on what is appended from now on, each to who waits for it', async () => {
  const { listening, append, reads } = listeningUnderTest();
  append('a', 'before');
  const heard: string[] = [];
  await listening.begin('a', (value) => heard.push(`a ${value.toString()}`));
  await listening.begin('b', (value) => heard.push(`b ${value.toString()}`));
  append('a', 'one');
  append('c', 'of nobody');
  append('b', 'two');
  await eventually(() => expect(heard).toEqual(['a one', 'b two']));
  listening.end('a');
  append('a', 'after');
  append('b', 'three');
  await eventually(() => expect(heard).toEqual(['a one', 'b two', 'b three']));
  await listening.stop();
  const before = reads();
  append('b', 'four');
  await new Promise((resolve) => setImmediate(resolve));
  expect([reads(), listening.size]).toEqual([before, 0]);
});

it('begins anew after it had ended', async () => {
  const { listening, append } = listeningUnderTest();
  await listening.begin('a', () => undefined);
  await listening.stop();
  append('a', 'unheard');
  const heard: string[] = [];
  await listening.begin('a', (value) => heard.push(value.toString()));
  append('a', 'heard');
  await eventually(() => expect(heard).toEqual(['heard']));
  await listening.stop();
});

it('says at once where it cannot begin, and goes on where Kafka is away for a while', async () => {
  const { listening, append, reads, setAway } = listeningUnderTest();
  setAway(true);
  await expect(listening.begin('a', () => undefined)).rejects.toMatchObject({ code: 'kafka_unavailable' });
  expect(listening.size).toBe(0);
  setAway(false);
  const heard: string[] = [];
  await listening.begin('a', (value) => heard.push(value.toString()));
  setAway(true);
  const before = reads();
  await eventually(() => expect(reads()).toBeGreaterThan(before + 1));
  append('a', 'meanwhile');
  setAway(false);
  await eventually(() => expect(heard).toEqual(['meanwhile']));
  await listening.stop();
});
