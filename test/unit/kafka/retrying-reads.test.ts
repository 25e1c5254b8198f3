import pino from 'pino';
import { AppError } from '../../../shared/service/errors';
import { retryingReads } from '../../../shared/kafka/reader';

const away = new AppError('kafka_unavailable', 'Kafka could not be read (connect ECONNREFUSED)', true);

function asked(answers: (Error | number[])[]) {
  const lines: unknown[] = [];
  const log = pino({}, { write: (line) => lines.push(JSON.parse(line)) });
  const committed = jest.fn(() => {
    const answer = answers.shift() ?? [];
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
  });
  const unused = () => Promise.reject(new Error('not asked for'));
  return { kafka: retryingReads({ committed, read: unused, ranges: unused }, log, 1), committed, lines };
}

test('a read is retried until the broker is back, and the outage is logged once', async () => {
  const { kafka, committed, lines } = asked([away, away, away, [7]]);
  expect(await kafka.committed('audiences', 'messages')).toEqual([7]);
  expect(committed).toHaveBeenCalledTimes(4);
  expect(lines).toEqual([expect.objectContaining({ msg: 'kafka.unavailable', reason: away.message })]);
});

test('an error that is not retriable is rethrown', async () => {
  const { kafka, committed } = asked([new Error('topic profiles has no partition 3'), [7]]);
  await expect(kafka.committed('audiences', 'messages')).rejects.toThrow('no partition 3');
  expect(committed).toHaveBeenCalledTimes(1);
});
