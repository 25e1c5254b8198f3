import {
  PartitionProcessor,
  type PartitionProcessorOptions,
} from '../../../services/audiences/profiles/partition-processor';
import { RepartitionProgress } from '../../../services/audiences/repartition/repartitioner';
import { type Kafka } from '../../../shared/kafka/port';
import { retryingReads } from '../../../shared/kafka/scan';
import { createLog } from '../../../shared/telemetry/log';
import { fakeDeletions } from '../../support/fakes';

type Parts = Pick<
  PartitionProcessorOptions,
  'tryingKafka' | 'producer' | 'path' | 'definitions' | 'now'
> &
  Partial<Pick<PartitionProcessorOptions, 'deletions'>> & {
    kafka: Pick<Kafka, 'read' | 'ranges' | 'committed'>;
  };

/** Returns the processor of the only partition, which nobody had before. */
export function processorUnderTest({ kafka, ...parts }: Parts): PartitionProcessor {
  const log = createLog('test', 'silent');
  const reads = retryingReads(kafka, log, 1);
  return new PartitionProcessor({
    deletions: fakeDeletions(),
    ...parts,
    kafka: reads,
    partition: 0,
    partitions: 1,
    progress: new RepartitionProgress(reads, parts.now),
    inherited: [],
    onRoom: () => undefined,
    onFatal: (error) => {
      throw error;
    },
    log,
  });
}
