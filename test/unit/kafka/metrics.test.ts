import { brokerClock } from '../../../shared/kafka/broker-clock';
import { Partition } from '../../../shared/kafka/consumer/partition';
import { meterConsumer } from '../../../shared/kafka/metrics';
import { FetchedRecord } from '../../../shared/kafka/protocol/batch';
import { tierTopic } from '../../../shared/kafka/topics';
import { metrics } from '../../../shared/telemetry/metrics';

const TIER_MS = 10_000;
const TOPIC = tierTopic(TIER_MS);

function valueOf(name: string): number | undefined {
  const metric = metrics.all().find(({ info }) => info.name === name);
  if (metric?.kind !== 'gauge') throw new Error(`${name} is no gauge`);
  return [...metric.read()][0]?.value;
}

test.each([-75_000, 0, 75_000])(
  'the age of a record does not depend on the clock of this machine, which is %p ms ahead',
  (aheadMs) => {
    const appendedAt = 1_800_000_000_000;
    const nowMs = appendedAt + 12_000;
    jest.spyOn(brokerClock, 'brokersNow').mockReturnValue(nowMs);
    jest.spyOn(Date, 'now').mockReturnValue(nowMs + aheadMs);
    const partition = new Partition(TOPIC, 0, 0);
    const meter = meterConsumer({
      group: 'retry',
      topics: [TOPIC],
      of: { joined: true, open: 1 },
      liveness: { pollAgeMs: 0 },
      partitions: new Map([['0', partition]]),
      retention: () => Promise.resolve(new Map()),
      prefix: '',
      bounds: () => Promise.resolve(new Map()),
      unassigned: () => Promise.resolve(undefined),
    });
    partition.offsets.take(0);
    const batch = { buffer: Buffer.alloc(0), epoch: 0, isHidden: false };
    meter.read(partition, [new FetchedRecord(batch, 0, 0, appendedAt)]);
    expect(valueOf('waypost.consumer.oldest')).toBe(12);
    expect(valueOf('waypost.retry.overdue')).toBe(2);
    meter.end();
    jest.restoreAllMocks();
  },
);
