import {
  PartitionProcessor,
  type PartitionProcessorOptions,
} from '../../../services/audiences/profiles/partition-processor';
import { ofAudience } from '../../../services/audiences/definitions/compile';
import { RepartitionProgress } from '../../../services/audiences/repartition/repartitioner';
import { type Kafka } from '../../../shared/kafka/port';
import { retryingReads } from '../../../shared/kafka/scan';
import { createLog } from '../../../shared/telemetry/log';
import { anAudience } from '../../support/factories';
import { fakeDeletions } from '../../support/fakes';

export const SYNC_MS = 60_000;
/** An audience of users whose plan is `pro`. */
export const PRO = ofAudience(
  anAudience({
    id: 'aud_pro',
    source: 'own',
    syncEveryMs: SYNC_MS,
    condition: 'user.traits.plan == "pro"',
  }),
  () => undefined,
);

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
