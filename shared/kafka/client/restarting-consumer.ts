import { type Consumer, type EachBatchPayload } from 'kafkajs';
import { backoff, withTimeout } from '../../runtime/async';
import { messageOf } from '../../runtime/errors';
import { type Log } from '../../telemetry/log';
import { type TopicPartition } from '../consumer/partition';
import { START_WITHIN_MS, whileLeadersAreFound } from './leaderless';

/**
 * Replaces a crashed kafkajs consumer by a new one. kafkajs can restart a crashed consumer itself,
 * but reuses remains of the old one: after a broker's restart its connections wrote after their end
 * and groups were joined twice. Here each restart creates a new consumer, and events of the old one
 * are ignored.
 */

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 1_000;
const GOODBYE_MS = 1_000;

/** Commands to the current consumer; topics have their full names. */
export interface ConsumerCommands {
  seek(place: TopicPartition, offset: number): unknown;
  pause(places: readonly TopicPartition[]): unknown;
  resume(places: readonly TopicPartition[]): unknown;
}

export class RestartingConsumer {
  #current: Consumer;
  #stopped = false;
  #crashed = false;
  #restarting = false;
  /** the start of the current consumer; never fails */
  #starting: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly options: {
      make: () => Consumer;
      /** adds the listeners, subscribes and runs a new consumer */
      live: (consumer: Consumer) => Promise<void>;
      onCrash: () => void;
      log: Log;
    },
  ) {
    this.#current = options.make();
  }

  get current(): Consumer {
    return this.#current;
  }

  /**
   * Returns the commands for the current consumer, sent only while it is in its group: after a
   * crash kafkajs throws.
   */
  commands(isJoined: () => boolean): ConsumerCommands {
    const byTopic = ({ topic, number }: TopicPartition) => ({ topic, partitions: [number] });
    return {
      seek: ({ topic, number }, offset) =>
        isJoined() && this.#current.seek({ topic, partition: number, offset: String(offset) }),
      pause: (places) => isJoined() && this.#current.pause(places.map(byTopic)),
      resume: (places) => isJoined() && this.#current.resume(places.map(byTopic)),
    };
  }

  /** Starts the first consumer. @throws an error of kafkajs if no broker answers */
  async start(): Promise<void> {
    await this.#live();
  }

  /** Disconnects, also a consumer that is just starting. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#current.disconnect();
    await withTimeout(GOODBYE_MS, this.#starting);
  }

  #live(): Promise<void> {
    const live = this.#begin(this.#current);
    this.#starting = live.catch(() => undefined);
    return live;
  }

  async #begin(consumer: Consumer): Promise<void> {
    consumer.on(consumer.events.CRASH, ({ payload }) => {
      if (consumer !== this.#current || this.#stopped) return;
      this.options.log.warn({ reason: messageOf(payload.error) }, 'consumer.crashed');
      this.#crashed = true;
      if (!this.#restarting) void this.#restart();
    });
    await consumer.connect();
    if (!this.#stopped) await this.options.live(consumer);
    // `stop` may have disconnected it while it was connecting or joining.
    if (this.#stopped) await consumer.disconnect();
  }

  /** Tries without end until the broker is back. */
  async #restart(): Promise<void> {
    this.#restarting = true;
    const retry = backoff(FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
    while (this.#crashed) {
      this.options.onCrash();
      await this.#disconnect(this.#current);
      await retry.pause();
      if (this.#stopped) return;
      this.#crashed = false;
      this.#current = this.options.make();
      if (!(await this.#revive())) this.#crashed = true;
    }
    this.#restarting = false;
  }

  /** @returns false if another attempt is needed */
  async #revive(): Promise<boolean> {
    try {
      await this.#live();
      return true;
    } catch (error) {
      if (!this.#stopped) {
        this.options.log.warn({ reason: messageOf(error) }, 'consumer.restart_failed');
      }
      return this.#stopped;
    }
  }

  async #disconnect(consumer: Consumer): Promise<void> {
    const gone = consumer.disconnect().catch((error: unknown) => {
      this.options.log.debug({ reason: messageOf(error) }, 'consumer.not_disconnected');
    });
    await withTimeout(GOODBYE_MS, gone);
  }
}

/**
 * Subscribes and runs a consumer, which leaves commits to the caller. `onBatch` must not wait for
 * anything.
 */
export async function runConsumer(
  consumer: Consumer,
  topics: string[],
  {
    onBatch,
    onFatal,
  }: { onBatch: (payload: EachBatchPayload) => void; onFatal: (error: unknown) => void },
): Promise<void> {
  await whileLeadersAreFound(
    () => consumer.subscribe({ topics, fromBeginning: true }),
    START_WITHIN_MS,
  );
  await consumer.run({
    autoCommit: false,
    // Otherwise a handler that returns early (after a refused record) would skip the rest of its
    // batch.
    eachBatchAutoResolve: false,
    eachBatch: (payload) => {
      try {
        onBatch(payload);
      } catch (error) {
        // kafkajs would offer the batch again without end.
        onFatal(error);
      }
      return Promise.resolve();
    },
  });
}
