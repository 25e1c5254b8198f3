import { type OutRecord } from '../../../shared/kafka/port';
import { sendEach } from '../../../shared/kafka/send-each';
import { AppError } from '../../../shared/runtime/errors';

const tooLarge = new AppError('kafka_refused', 'a record is too large');
const stopping = new AppError('overloaded', 'this process is stopping', true);
const records = ['a', 'large', 'b', 'large'].map((value): OutRecord => ({
  topic: 'messages',
  key: null,
  value,
}));
const valuesOf = (sent: readonly OutRecord[]) => sent.map(({ value }) => String(value));

test('of several records only those that Kafka refuses for good are not written', async () => {
  const written: string[] = [];
  const send = (sent: OutRecord[]) => {
    if (valuesOf(sent).includes('large')) return Promise.reject(tooLarge);
    written.push(...valuesOf(sent));
    return Promise.resolve();
  };
  const refused = await sendEach({ send }, records);
  expect([[...refused], written]).toEqual([
    [
      [1, tooLarge],
      [3, tooLarge],
    ],
    ['a', 'b'],
  ]);
});

test('records that Kafka takes are sent once, together', async () => {
  const sends: string[][] = [];
  const send = (sent: OutRecord[]) => {
    sends.push(valuesOf(sent));
    return Promise.resolve();
  };
  expect([(await sendEach({ send }, records)).size, sends]).toEqual([0, [valuesOf(records)]]);
});

test('a failure that passes counts more than a refusal, and is thrown once all are answered', async () => {
  let answer: () => void = () => undefined;
  let isAnswered = false;
  const send = (sent: OutRecord[]) => {
    if (sent.length > 1 || sent[0]!.value === 'large') return Promise.reject(tooLarge);
    if (sent[0]!.value === 'a') return Promise.reject(stopping);
    return new Promise<void>((resolve) => {
      answer = () => {
        isAnswered = true;
        resolve();
      };
    });
  };
  const sending = sendEach({ send }, records).catch((error: unknown) => ({ error, isAnswered }));
  await new Promise((resolve) => setImmediate(resolve));
  answer();
  expect(await sending).toEqual({ error: stopping, isAnswered: true });
});
