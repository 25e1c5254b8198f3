import { type OutRecord } from '../../../shared/kafka/port';
import { sendEach, sendFirst } from '../../../shared/kafka/send-each';
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

test('a failure that passes outweighs a refusal, and is thrown once all are answered', async () => {
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

test.each([
  [['small'], true, ['small']],
  [['large', 'small', 'smaller'], true, ['large', 'small']],
  [['large', 'large'], false, ['large', 'large']],
])('of the forms %j one is taken: %p, after %j were sent', async (forms, isTaken, expected) => {
  const sent: string[] = [];
  const send = (form: OutRecord[]) => {
    sent.push(...valuesOf(form));
    return valuesOf(form).includes('large') ? Promise.reject(tooLarge) : Promise.resolve();
  };
  const all = forms.map((value) => [{ topic: 'messages', key: null, value }]);
  expect([await sendFirst({ send }, all), sent]).toEqual([isTaken, expected]);
});

test('no other form is sent if the producer stops', async () => {
  const send = jest.fn(() => Promise.reject(stopping));
  await expect(sendFirst({ send }, [records, records])).rejects.toBe(stopping);
  expect(send).toHaveBeenCalledTimes(1);
});
