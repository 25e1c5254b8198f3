import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { aCall, type Call } from '../../test/support/factories';
import { basicAuth, IngestConnections } from './api';

/**
 * Sends calls at a steady rate as real clients do: some alone and some in batches, and each
 * repeated with the same `messageId` until it is acknowledged. It records every id that got a 200:
 * none of them may ever be missing.
 */
export interface Load {
  acknowledged: ReadonlySet<string>;
  /** responses other than 200, by status; `none` without a response */
  refusals: ReadonlyMap<number | 'none', number>;
  /** reasons for missing responses, by error code */
  silences: ReadonlyMap<string, number>;
  /** 503 responses without a Retry-After */
  withoutRetryAfter: number;
  /** the longest response time, ms */
  slowestAnswerMs: number;
  /** the URLs for calls from now on; several in rotation */
  urls: string[];
  /**
   * Sends no new calls, waits `deadlineMs` for the acknowledgement of open ones, and abandons the
   * rest.
   */
  stop(deadlineMs?: number): Promise<void>;
}

const TICK_MS = 50;
const BATCH = 6;
/** The request timeout of real clients. */
const CLIENT_TIMEOUT_MS = 10_000;
const RETRY_MS = 500;
const IDENTIFY_EVERY = 50;

export interface LoadOptions {
  url: string;
  writeKey: string;
  /** calls, a third of them alone */
  perSecond: number;
  /** creates the next call, with a unique id; default: a few identifies, the others tracks */
  make?: () => Call;
  /**
   * sends each call once more this long after its acknowledgement, as a client does that did not
   * get it, ms
   */
  againAfterMs?: number;
}

export function startLoad(options: LoadOptions): Load {
  const client = new Client([options.url], options.writeKey, options.againAfterMs);
  // The requests of some two seconds, since batches carry two thirds of the calls. Real clients
  // drop calls beyond a number: an outage must not cause a burst that no client would send, and
  // each open request is tried twice a second.
  const mostOpen = options.perSecond;
  const perTick = (options.perSecond * TICK_MS) / 1_000;
  let owed = 0;
  const next = options.make ?? callMaker();
  const timer = setInterval(() => {
    owed = Math.min(owed + perTick, options.perSecond);
    while (owed >= BATCH * 1.5 && client.open < mostOpen) {
      owed -= BATCH * 1.5;
      client.deliver(Array.from({ length: BATCH }, next));
      for (let i = 0; i < BATCH / 2; i++) client.deliver([next()]);
    }
  }, TICK_MS);
  return Object.assign(client, {
    stop: async (deadlineMs = 15_000) => {
      clearInterval(timer);
      await client.close(deadlineMs);
    },
  });
}

function callMaker(): () => Call {
  let made = 0;
  return () => {
    const userId = `user-${made % 500}`;
    return aCall(made++ % IDENTIFY_EVERY === 0 ? 'identify' : 'track', {
      messageId: randomUUID(),
      userId,
    });
  };
}

class Client {
  readonly acknowledged = new Set<string>();
  readonly refusals = new Map<number | 'none', number>();
  readonly silences = new Map<string, number>();
  withoutRetryAfter = 0;
  slowestAnswerMs = 0;
  #turn = 0;
  #closing = false;
  readonly #authorization: string;
  readonly #connections = new Map<string, IngestConnections>();
  readonly #open = new Set<Promise<void>>();
  readonly #copies = new Set<NodeJS.Timeout>();
  readonly #abandoned = new AbortController();

  constructor(
    public urls: string[],
    writeKey: string,
    private readonly againAfterMs?: number,
  ) {
    this.#authorization = basicAuth(writeKey);
  }

  get open(): number {
    return this.#open.size;
  }

  deliver(calls: Call[]): void {
    this.#track(this.#untilAcknowledged(calls));
  }

  #track(delivery: Promise<void>): void {
    const tracked = delivery.finally(() => this.#open.delete(tracked));
    this.#open.add(tracked);
  }

  /** A copy counts neither as open nor as missing while it waits. */
  #sendAgain(calls: Call[]): void {
    if (this.#closing) return;
    const timer = setTimeout(() => {
      this.#copies.delete(timer);
      this.#track(this.#untilAcknowledged(calls, { isCopy: true }));
    }, this.againAfterMs);
    this.#copies.add(timer);
  }

  async close(deadlineMs: number): Promise<void> {
    this.#closing = true;
    for (const copy of this.#copies) clearTimeout(copy);
    const timer = setTimeout(() => this.#abandoned.abort(), deadlineMs);
    await Promise.all(this.#open);
    clearTimeout(timer);
    await Promise.all([...this.#connections.values()].map((each) => each.destroy()));
  }

  async #untilAcknowledged(calls: Call[], { isCopy = false } = {}): Promise<void> {
    const [only] = calls;
    const [path, body] =
      calls.length === 1
        ? [`/v1/${only!.type}`, JSON.stringify(only)]
        : ['/v1/batch', batchOf(calls)];
    while (!this.#abandoned.signal.aborted) {
      const status = await this.#post(path, body);
      if (status === 200) {
        for (const { messageId } of calls) this.acknowledged.add(messageId);
        if (!isCopy && this.againAfterMs !== undefined) this.#sendAgain(calls);
        return;
      }
      this.refusals.set(status, (this.refusals.get(status) ?? 0) + 1);
      await pause(RETRY_MS);
    }
  }

  async #post(path: string, body: string): Promise<number | 'none'> {
    const from = Date.now();
    try {
      const authorization = this.#authorization;
      const signal = AbortSignal.timeout(CLIENT_TIMEOUT_MS);
      const { status, stored, headers } = await this.#next().post(path, body, {
        authorization,
        signal,
      });
      this.slowestAnswerMs = Math.max(this.slowestAnswerMs, Date.now() - from);
      if (status === 503 && headers['retry-after'] === undefined) this.withoutRetryAfter++;
      return status === 200 && !stored ? 'none' : status;
    } catch (error) {
      // A refused, reset or timed-out request is the same for a client, which keeps the calls and
      // tries again.
      const code = (error as NodeJS.ErrnoException).code ?? (error as Error).name;
      this.silences.set(code, (this.silences.get(code) ?? 0) + 1);
      return 'none';
    }
  }

  #next(): IngestConnections {
    const url = this.urls[this.#turn++ % this.urls.length]!;
    let connections = this.#connections.get(url);
    if (!connections) this.#connections.set(url, (connections = new IngestConnections(url)));
    return connections;
  }
}

function batchOf(batch: Call[]): string {
  return JSON.stringify({ batch, sentAt: new Date().toISOString() });
}
