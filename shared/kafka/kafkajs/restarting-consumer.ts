import { type Consumer } from 'kafkajs';
import { withTimeout } from '../../service/async';
import { messageOf } from '../../service/errors';
import { type Log } from '../../telemetry/log';

/**
 * A consumer that outlives kafkajs's crashes. kafkajs can restart a crashed consumer itself, but does it on top of what
 * is left of the old one: after a broker's restart its connections wrote after their end and groups were joined twice.
 * Here each life begins with a new consumer, and the old one is no longer listened to.
 */

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 1_000;
const GOODBYE_MS = 1_000;

export class RestartingConsumer {
  #current: Consumer;
  #stopped = false;
  #crashed = false;
  #restarting = false;

  constructor(
    private readonly options: {
      make: () => Consumer;
      /** Listens, subscribes and runs: everything that a new life needs. */
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

  /** The first life. @throws what kafkajs throws where no broker answers */
  async start(): Promise<void> {
    await this.#live();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#current.disconnect();
  }

  async #live(): Promise<void> {
    const consumer = this.#current;
    consumer.on(consumer.events.CRASH, ({ payload }) => {
      if (consumer !== this.#current || this.#stopped) return;
      this.options.log.warn({ reason: messageOf(payload.error) }, 'consumer.crashed');
      this.#crashed = true;
      if (!this.#restarting) void this.#restart();
    });
    await consumer.connect();
    await this.options.live(consumer);
  }

  /** However long the broker is away, its return is waited for. */
  async #restart(): Promise<void> {
    this.#restarting = true;
    let pauseMs = FIRST_PAUSE_MS;
    while (this.#crashed) {
      this.options.onCrash();
      await this.#disconnect(this.#current);
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
      pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 2);
      if (this.#stopped) return;
      this.#crashed = false;
      this.#current = this.options.make();
      try {
        await this.#live();
      } catch (error) {
        this.options.log.warn({ reason: messageOf(error) }, 'consumer.not_revived');
        this.#crashed = true;
      }
    }
    this.#restarting = false;
  }

  async #disconnect(consumer: Consumer): Promise<void> {
    const gone = consumer.disconnect().catch((error: unknown) => {
      this.options.log.debug({ reason: messageOf(error) }, 'consumer.not_disconnected');
    });
    await withTimeout(GOODBYE_MS, gone);
  }
}
