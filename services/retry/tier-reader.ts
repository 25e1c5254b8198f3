import { type Consumption, type Kafka } from '../../shared/kafka/port';
import { tierDelayMs } from '../../shared/kafka/topics';
import { withTimeout } from '../../shared/runtime/async';
import { messageOf } from '../../shared/runtime/errors';
import { type Log } from '../../shared/telemetry/log';

/**
 * New tiers come with a change of settings, a few times a year, and their first records are late by
 * at most this time. Each check is one metadata request.
 */
const POLL_EVERY_MS = 30_000;
/** Pause before the next try when Kafka is unavailable. */
const AGAIN_MS = 1_000;
/** The old consumer waits only for copies that are being written. */
const HAND_OVER_MS = 5_000;

interface TierReaderOptions {
  kafka: Pick<Kafka, 'listTopics'>;
  consume(topics: string[]): Promise<Consumption>;
  /**
   * called before the present consumer gives up its partitions: another process may then own them
   * for a while
   */
  onLeaving(): void;
  /** called with each new consumer */
  onConsumption(consumption: Consumption): void;
  log: Log;
}

/**
 * Reads all tiers, including tiers that are created while it runs: a delivery process with new
 * delays creates their topics, and its deliveries must come back. A consumer does not
 * change its topics, so a new one replaces the old one. A topic that is deleted stops no other.
 */
export class TierReader {
  #topics: string[] = [];
  #consumption: Consumption | undefined;
  #timer: NodeJS.Timeout | undefined;
  #polling: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(private readonly options: TierReaderOptions) {}

  /** @throws the error of the first check */
  async start(): Promise<void> {
    await this.#poll();
    this.#pollLater(POLL_EVERY_MS);
  }

  async stop(deadlineMs: number): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    const until = performance.now() + deadlineMs;
    // Without Kafka, it may last for longer than this process.
    await withTimeout(Math.min(HAND_OVER_MS, deadlineMs / 2), this.#polling);
    await this.#consumption?.stop(until - performance.now());
  }

  #pollLater(ms: number): void {
    this.#timer = setTimeout(() => {
      this.#polling = this.#poll().then(
        () => this.#pollLater(POLL_EVERY_MS),
        (error: unknown) => {
          this.options.log.warn({ reason: messageOf(error) }, 'tiers.not_read');
          this.#pollLater(AGAIN_MS);
        },
      );
    }, ms);
    if (this.#stopped) clearTimeout(this.#timer);
  }

  /**
   * Subscribes to all tier topics, also those no longer configured: deliveries still wait in them.
   */
  async #poll(): Promise<void> {
    const found = (await this.options.kafka.listTopics()).filter(
      (topic) => tierDelayMs(topic) !== undefined,
    );
    const made = found.filter((topic) => !this.#topics.includes(topic));
    if (this.#stopped || (made.length === 0 && this.#consumption)) return;
    if (this.#consumption) this.options.log.info({ topics: made }, 'tiers.found');
    if (this.#consumption) this.options.onLeaving();
    await this.#consumption?.stop(HAND_OVER_MS);
    this.#consumption = undefined;
    this.#consumption = await this.options.consume(found);
    this.#topics = found;
    this.options.onConsumption(this.#consumption);
  }
}
