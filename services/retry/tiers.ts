import { messageOf } from '../../shared/service/errors';
import { type Consumption, type Kafka } from '../../shared/kafka/port';
import { tierDelayMs } from '../../shared/kafka/topics';
import { type Log } from '../../shared/telemetry/log';

/**
 * Reads all tiers, also those that are made while it runs: a delivery process with new delays makes their topics, and what it puts
 * there is owed. kafkajs cannot change a subscription, so that a new consumer takes the place of the old one.
 */

/**
 * New tiers come with a change of settings, a few times a year; what waits in one is late by so much once. A look is one metadata
 * request.
 */
const LOOK_EVERY_MS = 30_000;
/** A consumer could not be begun since Kafka is away. */
const AGAIN_MS = 1_000;
/** Only copies that are being written are waited for. */
const HAND_OVER_MS = 5_000;

interface Parts {
  kafka: Pick<Kafka, 'listTopics'>;
  consume(topics: string[]): Promise<Consumption>;
  /** another consumer reads from now on */
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

  /** @throws what the first look throws */
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

  /** Also the tiers that are no longer configured: what waits in them is owed. */
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
