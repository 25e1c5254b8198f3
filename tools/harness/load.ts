import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Pool } from 'undici';
import { aCall, type Call } from '../../test/support/factories';

/**
 * Calls at a steady rate, as real clients make them: some alone and some in batches, and each repeated with the same
 * `messageId` until it is acknowledged. Every id that was answered 200 is remembered: none of them may ever be missing.
 */
export interface Load {
  acknowledged: ReadonlySet<string>;
  /** answers other than 200, by status; `none` where there was no answer at all */
  refusals: ReadonlyMap<number | 'none', number>;
  /** why there was none, by the code of the error */
  silences: ReadonlyMap<string, number>;
  /** answers 503 without a Retry-After */
  withoutRetryAfter: number;
  /** the longest that any answer took, ms */
  slowestAnswerMs: number;
  /** where calls go from now on; to several in turn */
  urls: string[];
  /** Sends nothing new, gives what is still open `deadlineMs` to be acknowledged, and abandons the rest. */
  stop(deadlineMs?: number): Promise<void>;
}

const TICK_MS = 50;
const BATCH = 10;
/** What real clients hold before they drop calls: an outage must not make a burst that no client would make. */
const MOST_OPEN = 400;
/** What real clients wait before they give a request up. */
const CLIENT_TIMEOUT_MS = 10_000;
const RETRY_MS = 500;
const IDENTIFY_EVERY = 50;

export interface LoadOptions {
  url: string;
  writeKey: string;
  /** calls, a third of them alone */
  perSecond: number;
  /** makes the next call, with an id of its own; default: a few identifies, the others tracks */
  make?: () => Call;
}

export function startLoad(options: LoadOptions): Load {
  const client = new Client([options.url], options.writeKey);
  const perTick = (options.perSecond * TICK_MS) / 1_000;
  let owed = 0;
  const next = options.make ?? callMaker();
  const timer = setInterval(() => {
    owed = Math.min(owed + perTick, options.perSecond);
    while (owed >= BATCH * 1.5 && client.open < MOST_OPEN) {
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
    return aCall(made++ % IDENTIFY_EVERY === 0 ? 'identify' : 'track', { messageId: randomUUID(), userId });
  };
}

class Client {
  readonly acknowledged = new Set<string>();
  readonly refusals = new Map<number | 'none', number>();
  readonly silences = new Map<string, number>();
  withoutRetryAfter = 0;
  slowestAnswerMs = 0;
  #turn = 0;
  readonly #authorization: string;
  readonly #pools = new Map<string, Pool>();
  readonly #open = new Set<Promise<void>>();
  readonly #abandoned = new AbortController();

  constructor(
    public urls: string[],
    writeKey: string,
  ) {
    this.#authorization = `Basic ${Buffer.from(`${writeKey}:`).toString('base64')}`;
  }

  get open(): number {
    return this.#open.size;
  }

  deliver(calls: Call[]): void {
    const delivery = this.#untilAcknowledged(calls).finally(() => this.#open.delete(delivery));
    this.#open.add(delivery);
  }

  async close(deadlineMs: number): Promise<void> {
    const timer = setTimeout(() => this.#abandoned.abort(), deadlineMs);
    await Promise.all(this.#open);
    clearTimeout(timer);
    await Promise.all([...this.#pools.values()].map((pool) => pool.destroy()));
  }

  async #untilAcknowledged(calls: Call[]): Promise<void> {
    const [only] = calls;
    const [path, body] =
      calls.length === 1 ? [`/v1/${only!.type}`, JSON.stringify(only)] : ['/v1/batch', batchOf(calls)];
    while (!this.#abandoned.signal.aborted) {
      const status = await this.#post(path, body);
      if (status === 200) {
        for (const { messageId } of calls) this.acknowledged.add(messageId);
        return;
      }
      this.refusals.set(status, (this.refusals.get(status) ?? 0) + 1);
      await pause(RETRY_MS);
    }
  }

  async #post(path: string, body: string): Promise<number | 'none'> {
    const from = Date.now();
    try {
      const answer = await this.#pool().request({
        method: 'POST',
        path,
        body,
        headers: { authorization: this.#authorization, 'content-type': 'application/json' },
        signal: AbortSignal.timeout(CLIENT_TIMEOUT_MS),
      });
      const text = await answer.body.text();
      this.slowestAnswerMs = Math.max(this.slowestAnswerMs, Date.now() - from);
      if (answer.statusCode === 503 && answer.headers['retry-after'] === undefined) this.withoutRetryAfter++;
      // A client takes exactly this for success.
      return answer.statusCode === 200 && text !== '{"success":true}' ? 'none' : answer.statusCode;
    } catch (error) {
      // Refused, reset, or given up: all the same to a client, which keeps the calls and tries again.
      const code = (error as NodeJS.ErrnoException).code ?? (error as Error).name;
      this.silences.set(code, (this.silences.get(code) ?? 0) + 1);
      return 'none';
    }
  }

  #pool(): Pool {
    const url = this.urls[this.#turn++ % this.urls.length]!;
    let pool = this.#pools.get(url);
    if (!pool) this.#pools.set(url, (pool = new Pool(url)));
    return pool;
  }
}

function batchOf(batch: Call[]): string {
  return JSON.stringify({ batch, sentAt: new Date().toISOString() });
}
