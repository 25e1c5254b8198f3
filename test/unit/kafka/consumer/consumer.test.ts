import { type Admin, type Consumer } from 'kafkajs';
import { KafkaConsumption } from '../../../../shared/kafka/consumer/consumer';
import { type Committed } from '../../../../shared/kafka/client/committed-offsets';
import { Membership } from '../../../../shared/kafka/client/membership';
import { createLog } from '../../../../shared/telemetry/log';
import { metrics } from '../../../../shared/telemetry/metrics';
import { renderMetrics } from '../../../../shared/telemetry/prometheus';

test('a consumer that cannot subscribe leaves no connection and no metrics behind', async () => {
  let connections = 0;
  const consumer = {
    events: {},
    on: () => undefined,
    connect: () => {
      connections++;
      return Promise.resolve();
    },
    disconnect: () => {
      connections--;
      return Promise.resolve();
    },
    subscribe: () => Promise.reject(new Error('the topic may not be read')),
  } as unknown as Consumer;
  const parts = {
    make: () => consumer,
    membership: new Membership(),
    groupId: 'g',
    prefix: '',
    readCommitted: () => Promise.resolve(new Map<string, Committed>()),
    admin: {} as Admin,
    partitionOf: () => 0,
    appendedAt: () => Promise.resolve(undefined),
    log: createLog('test', 'silent'),
  };
  const onRecord = () => 'accepted' as const;
  const options = { group: 'unreadable', topics: ['t'], onRecord, onFatal: () => undefined };
  await expect(new KafkaConsumption(parts, options).start()).rejects.toThrow('may not be read');
  expect(connections).toBe(0);
  expect(await renderMetrics(metrics)).not.toMatch(/^waypost_consumer_joined{.*unreadable.* /m);
});
