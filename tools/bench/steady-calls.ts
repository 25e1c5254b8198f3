import { deliveryId } from '../../shared/model/delivery';
import { clockMs, openLoop } from '../harness/timing';
import { Calls, type Customer } from './load';

const CONNECTIONS = 32;

/** An open loop of single calls until it is stopped, which may move to another ingest process. */
export class SteadyCalls {
  readonly #sentAt = new Map<string, number>();
  readonly #clients: Calls[] = [];
  #client: Calls;
  #stopped = false;
  readonly #loop: Promise<void>;

  /** @param run part of each messageId: two runs on one system must not share it */
  constructor(
    perSecond: number,
    private readonly customers: readonly Customer[],
    ingestUrl: string,
    private readonly run: string,
  ) {
    this.#client = this.moveTo(ingestUrl);
    this.#loop = openLoop(
      perSecond,
      () => !this.#stopped,
      () => this.#one(),
    );
    // `stop` reports it.
    this.#loop.catch(() => undefined);
  }

  /** Number of accepted calls. */
  get sent(): number {
    return this.#sentAt.size;
  }

  moveTo(ingestUrl: string): Calls {
    const run = `${this.run}-${String(this.#clients.length)}`;
    this.#client = new Calls(ingestUrl, CONNECTIONS, this.customers, run);
    this.#clients.push(this.#client);
    return this.#client;
  }

  /** Returns the times of the calls by the ids of their deliveries. */
  async stop(): Promise<ReadonlyMap<string, number>> {
    this.#stopped = true;
    await this.#loop;
    for (const client of this.#clients) await client.close();
    return this.#sentAt;
  }

  async #one(): Promise<void> {
    const atMs = clockMs();
    const { customer, messageId } = await this.#client.postSingle();
    this.#sentAt.set(deliveryId(customer.sourceId, messageId, customer.destinationId), atMs);
  }
}
