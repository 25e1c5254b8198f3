import { type ConsumerBrokers } from '../../../../shared/kafka/consumer/brokers';
import { KafkaConsumption } from '../../../../shared/kafka/consumer/consumer';
import { type ConsumeOptions, type OpenRecord } from '../../../../shared/kafka/port';
import { createLog, type Log } from '../../../../shared/telemetry/log';
import { type Random } from '../../../../tools/harness/random';
import { Coordinator } from './coordinator';
import { alive, ModelBrokers, type World } from './model-brokers';
import { ModelLog } from './model-log';
import { type VirtualTime } from './virtual-time';

/** Returns a real consumer on models of the brokers. */
export function modelConsumer(
  brokers: ConsumerBrokers,
  options: Pick<ConsumeOptions, 'topics' | 'onRecord'> & Partial<ConsumeOptions>,
  log: Log = createLog('model', 'silent'),
): KafkaConsumption {
  const parts = {
    brokers,
    describe: () => Promise.resolve(undefined),
    retention: () => Promise.resolve(new Map<string, number>()),
    groupId: 'model',
    prefix: '',
    rack: '',
    wait: { maxWaitTime: 100, minBytes: 1 },
    maxBytesPerPartition: 1_000,
    recordAt: () => Promise.resolve(undefined),
    log,
  };
  const onFatal = (error: unknown) => {
    throw error;
  };
  return new KafkaConsumption(parts, { group: 'model', onFatal, ...options });
}

/** Starts a member that reads `t`, and whose records stay open. */
export function startMember(world: World) {
  const open: OpenRecord[] = [];
  const brokers = new ModelBrokers(world, alive());
  const consumption = modelConsumer(brokers, {
    topics: ['t'],
    onRecord: (record) => {
      open.push(record);
      return 'accepted';
    },
  });
  void consumption.start();
  return { consumption, open, brokers };
}

/** Returns a world with one topic `t`, whose partitions have some records each. */
export function worldOf(
  time: VirtualTime,
  random: Random,
  { partitions, records }: { partitions: number; records: number },
): World {
  const logs = new Map<string, ModelLog>();
  let stamp = 0;
  for (let number = 0; number < partitions; number++) {
    const log = new ModelLog();
    log.append(records, () => ++stamp);
    logs.set(`t/${String(number)}`, log);
  }
  return {
    time,
    random,
    coordinator: new Coordinator(time, random),
    counts: new Map([['t', partitions]]),
    logs,
    topicIds: new Map([['t', 't-1']]),
    starts: 1,
  };
}
