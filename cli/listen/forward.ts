import { Agent, request } from 'node:http';
import { Agent as TlsAgent, request as tlsRequest } from 'node:https';
import { backoff, sleep, withTimeout } from '../../shared/runtime/async';
import { type PreparedSecrets, signHeaders } from '../../shared/model/sign';
import { addOwnHeaders } from '../../shared/model/webhook-request';
import { newTraceparent } from '../../shared/telemetry/trace';
import { reasonOf } from '../connect/api';
import { type Forward } from './choose-events';

/**
 * Sends the requests of a listener. While the local server is away, for example during a restart,
 * new events wait in a bounded queue, and dropped events are reported. A request whose connection
 * broke is sent again with the same `webhook-id`. A request with a response, or with none within 5
 * s, is not.
 */

export interface Answer {
  /** undefined: no response in time */
  status: number | undefined;
  ms: number;
  /** number of connections tried */
  tries: number;
  /** the beginning of the response's body */
  response?: string | undefined;
}

export interface ForwarderOptions {
  target: URL;
  secrets: PreparedSecrets | undefined;
  headers: Record<string, string>;
  concurrency: number;
  timeoutMs: number;
  onAnswer(forward: Forward, answer: Answer): void;
  /** the server is away; `undefined`: it is back */
  onAway(why: string | undefined): void;
}

/** Enough to inspect an error page. */
const RESPONSE_BYTES = 2_000;
/** Limits of the queue: events, and their bodies. Calls are 32 KB at most. */
const MAX_QUEUED = 10_000;
const MAX_BYTES = 128 * 1024 * 1024;
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;

export class Forwarder {
  readonly #queue: Forward[] = [];
  readonly #agent: Agent;
  readonly #stop = new AbortController();
  readonly #idle = new Set<() => void>();
  #bytes = 0;
  #running = 0;
  #unsent = 0;
  #away = false;
  dropped = 0;

  constructor(private readonly options: ForwarderOptions) {
    const { target, concurrency } = options;
    const pool = { keepAlive: true, maxSockets: concurrency };
    this.#agent = target.protocol === 'https:' ? new TlsAgent(pool) : new Agent(pool);
  }

  /** Number of accepted requests without a response. */
  get open(): number {
    return this.#queue.length + this.#running;
  }

  /** @returns false if the queue is full */
  offer(forward: Forward): boolean {
    if (this.#queue.length >= MAX_QUEUED || this.#bytes >= MAX_BYTES) {
      this.dropped++;
      return false;
    }
    this.#queue.push(forward);
    this.#bytes += forward.body.length;
    if (this.#running < this.options.concurrency) void this.#work();
    return true;
  }

  /**
   * Starts no new request, and waits for those in flight.
   * @returns how many were not sent, or got no response
   */
  async close(deadlineMs: number): Promise<number> {
    this.#stop.abort();
    this.#unsent += this.#queue.splice(0).length;
    await withTimeout(deadlineMs, this.#settled());
    const left = this.#running;
    this.#agent.destroy();
    return this.#unsent + left;
  }

  /** Resolves when no request is open. */
  async #settled(): Promise<void> {
    while (this.#running > 0) await new Promise<void>((resolve) => this.#idle.add(resolve));
  }

  async #work(): Promise<void> {
    this.#running++;
    for (let forward = this.#queue.shift(); forward; forward = this.#queue.shift()) {
      this.#bytes -= forward.body.length;
      await this.#make(forward);
    }
    this.#running--;
    for (const resolve of this.#idle) resolve();
    this.#idle.clear();
  }

  async #make(forward: Forward): Promise<void> {
    const { signal } = this.#stop;
    const retry = backoff(FIRST_PAUSE_MS, LONGEST_PAUSE_MS, (ms) => sleep(ms, { signal }));
    for (let tries = 1; ; tries++) {
      const startedAt = performance.now();
      const { status, response, broke } = await this.#post(forward);
      if (broke === undefined) {
        this.#reportOutage(undefined);
        this.options.onAnswer(forward, {
          status,
          response,
          ms: performance.now() - startedAt,
          tries,
        });
        return;
      }
      // If the server closed an idle connection, that says nothing about the server.
      if (tries > 1) this.#reportOutage(broke);
      await retry.pause();
      if (signal.aborted) {
        this.#unsent++;
        return;
      }
    }
  }

  #reportOutage(why: string | undefined): void {
    if (this.#away === (why !== undefined)) return;
    this.#away = why !== undefined;
    this.options.onAway(why);
  }

  /** Returns the headers of a request that is sent now. */
  headersOf({ id, body }: Forward): Record<string, string> {
    const { secrets, headers } = this.options;
    const nowMs = Date.now();
    // The delivery's own trace is unknown here.
    const facts = { traceparent: newTraceparent(), rendered: {}, endpoint: {} };
    const own = pairs(addOwnHeaders([], facts));
    const signed = pairs(
      signHeaders({ id, body, secrets, nowMs, timestampS: Math.floor(nowMs / 1000) }),
    );
    return { ...own, ...headers, ...signed };
  }

  #post(forward: Forward): Promise<{ status?: number; response?: string; broke?: string }> {
    const { target, timeoutMs } = this.options;
    const { body } = forward;
    return new Promise((resolve) => {
      const post = (target.protocol === 'https:' ? tlsRequest : request)(target, {
        method: 'POST',
        agent: this.#agent,
        headers: { ...this.headersOf(forward), 'content-length': body.length },
      });
      const timer = setTimeout(() => {
        resolve({});
        post.destroy();
      }, timeoutMs);
      const settle = (result: { status?: number; response?: string; broke?: string }) => {
        clearTimeout(timer);
        resolve(result);
      };
      post.on('response', (response) => {
        let start = Buffer.alloc(0);
        response.on('data', (chunk: Buffer) => {
          if (start.length < RESPONSE_BYTES) start = Buffer.concat([start, chunk]);
        });
        response.on('end', () => {
          settle({
            status: response.statusCode ?? 0,
            response: start.toString('utf8', 0, RESPONSE_BYTES),
          });
        });
        response.on('error', (error) => settle({ broke: reasonOf(error) }));
      });
      post.on('error', (error) => settle({ broke: reasonOf(error) }));
      post.end(body);
    });
  }
}

/** Turns a flat list of headers (name, value, name, …) into an object. */
function pairs(flat: string[]): Record<string, string> {
  return Object.fromEntries(
    Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i] ?? '', flat[2 * i + 1] ?? '']),
  );
}
