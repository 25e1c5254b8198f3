import pino from 'pino';
import { RecordWaiter } from '../../../shared/kafka/wait-for-record';
import { AppError } from '../../../shared/service/errors';
import { type Kafka } from '../../../shared/kafka/port';
import { eventually } from '../../support/eventually';
import { memoryLog } from '../../support/memory-log';

/** A waiter reads appended records while callers wait, and sends no requests to Kafka otherwise. */

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

it('each waiting caller gets the records of its key that are appended from now on', async () => {
  const { listening, append, reads } = listeningUnderTest();
  append('a', 'before');
  const heard: string[] = [];
  await listening.begin('a', (value) => heard.push(`a ${value.toString()}`));
  await listening.begin('b', (value) => heard.push(`b ${value.toString()}`));
  append('a', 'one');
  append('c', 'without a caller');
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

it('a waiter can be used again after it has stopped', async () => {
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

it('a wait fails immediately if it cannot start, and survives an outage of Kafka once it has started', async () => {
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
  append('a', 'during the outage');
  setAway(false);
  await eventually(() => expect(heard).toEqual(['during the outage']));
  await listening.stop();
});
