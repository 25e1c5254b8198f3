import { KafkaJSNumberOfRetriesExceeded, KafkaJSProtocolError } from 'kafkajs';
import { whileLeadersAreFound } from '../../../../shared/kafka/client/leaderless';

const refusal = (type: string) => Object.assign(new KafkaJSProtocolError('refused'), { type });
const wrapped = (cause: Error) =>
  new KafkaJSNumberOfRetriesExceeded(cause, { retryCount: 5, retryTime: 1_000 });

/** Fails once. */
function once(error: Error): () => Promise<string> {
  let calls = 0;
  return () => (calls++ === 0 ? Promise.reject(error) : Promise.resolve('found'));
}

test.each<[string, Error]>([
  ['if a broker is not the leader of a partition', refusal('NOT_LEADER_FOR_PARTITION')],
  ['while a partition has no leader yet', refusal('LEADER_NOT_AVAILABLE')],
  [
    'after kafkajs has used up its own retries without a leader',
    wrapped(refusal('LEADER_NOT_AVAILABLE')),
  ],
])('a look-up of offsets is repeated %s', async (_, error) => {
  expect(await whileLeadersAreFound(once(error))).toBe('found');
});

test('a look-up of offsets is not repeated if the broker refuses it', async () => {
  const error = refusal('TOPIC_AUTHORIZATION_FAILED');
  await expect(whileLeadersAreFound(once(error))).rejects.toBe(error);
});
