import { type Kafka } from '../../../shared/kafka/port';
import { PROFILE_EVENTS } from '../../../shared/kafka/topics';
import { messageOf } from '../../../shared/service/errors';
import { type Log } from '../../../shared/telemetry/log';
import { type Definitions } from '../definitions/compile';
import { type RepartitionProgress } from '../progress';
import { Checkpoints } from './checkpoints';
import { Engine } from './engine';
import { otherPartitions, withPartitions } from './partition-state';
import { restore } from './restore';
import { type Store } from './store';

export interface OpenOptions {
  kafka: Pick<Kafka, 'read' | 'ranges'>;
  partition: number;
  /** number of partitions when this process began to read */
  partitions: number;
  /** of the store */
  path: string;
  definitions: () => Definitions;
  progress: RepartitionProgress;
  now: () => number;
  log: Log;
}

interface OpenPartition {
  store: Store;
  engine: Engine;
  checkpoints: Checkpoints;
  /** ends of `messages` at the start */
  ends: readonly number[];
  /** end of the partition of `profiles.events` at the start */
  end: number;
}

/** Restores the store of a partition, and creates the engine on it. */
export async function openPartition(options: OpenOptions): Promise<OpenPartition> {
  const { kafka, partition, path, progress, now, log } = options;
  const startedAt = now();
  const ends = await progress.messagesEnds();
  const ranges = await kafka.ranges(PROFILE_EVENTS);
  if (ranges.length !== options.partitions) throw otherPartitions(ranges.length, options.partitions);
  const end = ranges.find((each) => each.partition === partition)?.high ?? 0;
  const { store, meta, next, records, anew } = await restore(
    kafka,
    { partition, path, nowMs: startedAt, log },
    options.definitions(),
  );
  const engine: Engine = new Engine(store, withPartitions(meta, ranges.length), {
    partition,
    end,
    definitions: options.definitions(),
    onUnusable: ({ offset }, error) =>
      log.error({ partition, offset, reason: messageOf(error) }, 'profile_event.skipped'),
    seen: (ends) => progress.covers(ends, partition, engine.meta.live.next),
  });
  const checkpoints = new Checkpoints({ kafka, partition, next, now });
  log.info({ partition, records, anew, profiles: store.size, durationMs: now() - startedAt }, 'profiles.restored');
  return { store, engine, checkpoints, ends, end };
}
