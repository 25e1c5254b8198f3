import { messageOf } from '../../shared/service/errors';
import { type Consumption, type Kafka } from '../../shared/kafka/port';
import { tierDelayMs } from '../../shared/kafka/topics';
import { type Log } from '../../shared/telemetry/log';

/**
 * Reads all tiers, including tiers that are created while it runs: a delivery process with new delays creates their topics,
 * and its deliveries must come back. kafkajs cannot change a subscription, so a new consumer replaces the old one.
 */

/**
 * New tiers come with a change of settings, a few times a year, and their first records are late by at most this time. Each
 * check is one metadata request.
 */
const LOOK_EVERY_MS = 30_000;
/** Pause before the next try when Kafka is unavailable. */
const AGAIN_MS = 1_000;
/** The old consumer waits only for copies that are being written. */
const HAND_OVER_MS = 5_000;

interface Parts {
  kafka: Pick<Kafka, 'listTopics'>;
  consume(topics: string[]): Promise<Consumption>;
  /** called with each new consumer */
  onConsumption(consumption: Consumption): void;
  log: Log;
}

export class TierReader {
  #topics: string[] = [];
  #consumption: Consumption | undefined;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(private readonly parts: Parts) {}

  /** @throws the error of the first check */
  async start(): Promise<void> {
    await this.#look();
    this.#lookLater(LOOK_EVERY_MS);
  }

  async stop(deadlineMs: number): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#looking;
    await this.#consumption?.stop(deadlineMs);
  }

  #lookLater(ms: number): void {
    this.#timer = setTimeout(() => {
      this.#looking = this.#look().then(
        () => this.#lookLater(LOOK_EVERY_MS),
        (error: unknown) => {
          this.parts.log.warn({ reason: messageOf(error) }, 'tiers.not_read');
          this.#lookLater(AGAIN_MS);
        },
      );
    }, ms);
    if (this.#stopped) clearTimeout(this.#timer);
  }

  /** Subscribes to all tier topics, also those no longer configured: deliveries still wait in them. */
  async #look(): Promise<void> {
    const found = (await this.parts.kafka.listTopics()).filter((topic) => tierDelayMs(topic) !== undefined);
    const made = found.filter((topic) => !this.#topics.includes(topic));
    if (this.#stopped || (made.length === 0 && this.#consumption)) return;
    if (this.#consumption) this.parts.log.info({ topics: made }, 'tiers.found');
    await this.#consumption?.stop(HAND_OVER_MS);
    this.#consumption = undefined;
    this.#consumption = await this.parts.consume(found);
    this.#topics = found;
    this.parts.onConsumption(this.#consumption);
  }
}
