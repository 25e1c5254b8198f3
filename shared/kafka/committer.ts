import { messageOf } from '../errors';
import { type Log } from '../telemetry/log';
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
      log: Log;
    },
  ) {}

  /** @param nowMs Infinity: also what changed only a moment ago */
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
    }
  }
}
