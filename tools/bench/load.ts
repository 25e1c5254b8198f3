import { apiOf, basicAuth, IngestConnections } from '../harness/api';
import { type SystemEnv } from '../harness/services';
import { callOf, SECRET } from './payload';

/** The customers of a benchmark, and their calls. */

/** A source and the destination of its calls. */
export interface Customer {
  sourceId: string;
  destinationId: string;
  /** the value of the Authorization header of its calls */
  authorization: string;
}

/**
 * Creates, for each URL, one source with one signed destination.
 * @param more additional fields of each destination
 */
export async function createCustomers(
  system: SystemEnv,
  urls: readonly string[],
  more: object = {},
): Promise<Customer[]> {
  const api = apiOf(system);
  const customers: Customer[] = [];
  for (const [i, url] of urls.entries()) {
    const source = await api.createSource(`Source ${String(i)}`);
    const name = `Destination ${String(i)}`;
    const fields = {
      name,
      sources: [source.id],
      webhooks: [{ url }],
      sharedSecret: SECRET,
      ...more,
    };
    const destination = await api.createDestination(fields);
    const authorization = basicAuth(source.writeKey);
    customers.push({ sourceId: source.id, destinationId: destination.id, authorization });
  }
  return customers;
}

/** A client of ingest: posts batches or single calls of the customers in rotation. */
export class Calls {
  readonly #ingests: readonly IngestConnections[];
  #next = 0;
  #posted = 0;

  /**
   * @param ingestUrls of one process, or of several that get a request in rotation
   * @param connections to each process
   * @param run part of each messageId: two runs on one system must not share it
   */
  constructor(
    ingestUrls: string | readonly string[],
    connections: number,
    private readonly customers: readonly Customer[],
    private readonly run: string,
  ) {
    this.#ingests = [ingestUrls]
      .flat()
      .map((url) => new IngestConnections(url, { connections, pipelining: 1 }));
  }

  /**
   * Posts a batch of calls of one customer in one request.
   * @throws if not all of them are accepted
   */
  async postBatch(size: number): Promise<void> {
    const batch = Array.from({ length: size }, () => this.#call(this.#next++));
    await this.#post(
      '/v1/batch',
      { batch, sentAt: new Date().toISOString() },
      this.#customer(this.#next),
    );
  }

  /**
   * Posts one call.
   * @returns its customer and its messageId
   * @throws if it is not accepted
   */
  async postSingle(): Promise<{ customer: Customer; messageId: string }> {
    const i = this.#next++;
    const customer = this.#customer(i);
    await this.#post('/v1/track', this.#call(i), customer);
    return { customer, messageId: this.#messageId(i) };
  }

  async close(): Promise<void> {
    await Promise.all(this.#ingests.map((ingest) => ingest.close()));
  }

  #messageId(i: number): string {
    return `bench-${this.run}-${String(i)}`;
  }

  #call(i: number): object {
    return callOf(i, this.#messageId(i));
  }

  #customer(i: number): Customer {
    const customer = this.customers[i % this.customers.length];
    if (!customer) throw new Error('there is no customer');
    return customer;
  }

  async #post(path: string, body: object, { authorization }: Customer): Promise<void> {
    const ingest = this.#ingests[this.#posted++ % this.#ingests.length];
    if (!ingest) throw new Error('there is no ingest');
    const { status, stored, text } = await ingest.post(path, JSON.stringify(body), {
      authorization,
    });
    if (!stored) {
      throw new Error(`ingest answered POST ${path} with ${String(status)}: ${text.slice(0, 300)}`);
    }
  }
}
