import { Pool } from 'undici';
import { type Customer } from './control-api';
import { callOf } from './payload';

/** A client of ingest: posts batches or single calls of the customers in rotation. */

const ACCEPTED = '{"success":true}';

export class Calls {
  readonly #pool: Pool;
  #next = 0;

  /** @param run part of each messageId: two runs on one system must not share it */
  constructor(
    ingestUrl: string,
    connections: number,
    private readonly customers: readonly Customer[],
    private readonly run: string,
  ) {
    this.#pool = new Pool(ingestUrl, { connections, pipelining: 1 });
  }

  /**
   * Posts a batch of calls of one customer in one request.
   * @throws if not all of them are accepted
   */
  async postBatch(size: number): Promise<void> {
    const batch = Array.from({ length: size }, () => this.#call(this.#next++));
    await this.#post('/v1/batch', { batch, sentAt: new Date().toISOString() }, this.#customer(this.#next));
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

  close(): Promise<void> {
    return this.#pool.close();
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
    const answer = await this.#pool.request({
      method: 'POST',
      path,
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const text = await answer.body.text();
    if (answer.statusCode !== 200 || text !== ACCEPTED) {
      throw new Error(`ingest answered POST ${path} with ${String(answer.statusCode)}: ${text.slice(0, 300)}`);
    }
  }
}
