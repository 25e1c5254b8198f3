import { ERROR } from '../../../../shared/kafka/protocol/error-codes';
import { type ConsumerBrokers } from '../../../../shared/kafka/consumer/brokers';
import { metrics } from '../../../../shared/telemetry/metrics';
import { renderMetrics } from '../../../../shared/telemetry/prometheus';
import { modelConsumer } from '../group/model-consumer';

test.each<[string, ConsumerBrokers['metadata'], string]>([
  [
    'may not read a topic',
    () =>
      Promise.resolve(
        new Map([['t', { errorCode: ERROR.topicForbidden, id: '', partitions: [] }]]),
      ),
    'may not read the topic t',
  ],
  ['reaches no broker', () => Promise.reject(new Error('no broker answers')), 'no broker answers'],
])('a consumer that %s leaves no connection and no metrics behind', async (_, metadata, reason) => {
  let connections = 1;
  const brokers = {
    metadata,
    disconnect: () => {
      connections--;
      return Promise.resolve();
    },
  } as unknown as ConsumerBrokers;
  const onRecord = () => 'accepted' as const;
  const consumption = modelConsumer(brokers, { group: 'unreadable', topics: ['t'], onRecord });
  await expect(consumption.start()).rejects.toThrow(reason);
  expect(connections).toBe(0);
  expect(await renderMetrics(metrics)).not.toMatch(/^waypost_consumer_joined{.*unreadable.* /m);
});
