import { messageOf } from '../../service/errors';
import { type Log } from '../../telemetry/log';
import { type Commit, type Partition } from './partition';

/** Commits what has changed, one request at a time; what a failed one left out is in the next. */
export class Committer {
  #running: Promise<void> = Promise.resolve();

  constructor(
    private readonly options: {
      partitions: () => Iterable<Partition>;
      send: (offsets: { topic: string; partition: number; offset: string; metadata: string }[]) => Promise<void>;
      /** after each round, failed or not */
      after: () => void;
      /** whoever coordinates the group is not where it was: a commit will not find it again by itself */
      astray: () => void;
      log: Log;
    },
  ) {}

  /** @param nowMs by `performance.now()`; Infinity: also what changed only a moment ago */
  run(nowMs: number): Promise<void> {
    this.#running = this.#running.then(async () => {
      const commits = [...this.options.partitions()].flatMap((partition) => partition.commit(nowMs) ?? []);
      if (commits.length > 0) await this.#send(commits);
      this.options.after();
    });
    return this.#running;
  }

  async #send(commits: Commit[]): Promise<void> {
    try {
      await this.options.send(
        commits.map(({ partition, offset, metadata }) => ({
          topic: partition.topic,
          partition: partition.number,
          offset: String(offset),
          metadata,
        })),
      );
      for (const commit of commits) commit.partition.acknowledged(commit);
    } catch (error) {
      this.options.log.warn({ reason: messageOf(error) }, 'commit.failed');
      if (isAstray(error)) this.options.astray();
    }
  }
}

/**
 * kafkajs looks for the coordinator only when it joins, and goes on with the one it had: where that was another broker,
 * nothing was committed for more than a minute while records were done.
 */
function isAstray(error: unknown): boolean {
  const { name, type, cause } = (error ?? {}) as { name?: unknown; type?: unknown; cause?: unknown };
  if (type === 'NOT_COORDINATOR_FOR_GROUP') return true;
  if (typeof name === 'string' && ASTRAY.has(name)) return true;
  return cause !== undefined && cause !== error && isAstray(cause);
}

const ASTRAY = new Set(['KafkaJSBrokerNotFound', 'KafkaJSConnectionError', 'KafkaJSConnectionClosedError']);
