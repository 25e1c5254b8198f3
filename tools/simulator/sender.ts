import { type StallClock } from '../../services/delivery/clock/stall-clock';
import { type SendRequest, type SendResult } from '../../services/delivery/http/exchange';
import { type Clock } from '../../services/delivery/clock/clock';
import { type Random } from '../harness/random';
import { type Answer, type Behaviour } from './endpoint';

/**
 * Sends requests to simulated endpoints. Deadlines follow the stall clock, as in the real sender.
 */

const SWEEP_MS = 100;
const REFUSED_MS = 1;

/** An endpoint, shared by all processes. */
export interface Endpoint {
  behaviour: Behaviour;
  random: Random;
  open: number;
}

export interface Request {
  deliveryId: string;
  origin: string;
}

/** How a request has ended. */
export interface Ending {
  ok: boolean;
  status?: number;
  retryAfterS?: number | undefined;
}

interface Exchange extends Request {
  endpoint: Endpoint;
  at: number;
  /** by the stall clock */
  begunAt: number;
  done: (result: SendResult) => void;
}

export interface SenderOptions {
  time: Clock & { at(ms: number, act: () => void): void };
  clock: Pick<StallClock, 'deadlineNow' | 'stoodStillSince'>;
  timeoutMs: number;
  endpoint: (origin: string) => Endpoint;
  began: (request: Request) => void;
  /** called before the response is visible; without a status: there was none */
  ended: (request: Request, answer: Ending) => void;
}

export class SimulatedSender {
  /** in order of their deadlines */
  readonly #open = new Set<Exchange>();

  constructor(private readonly options: SenderOptions) {
    const { time, timeoutMs } = options;
    const sweepMs = Math.min(SWEEP_MS, Math.ceil(timeoutMs / 10));
    // After reading responses, as in the real sender.
    time.every(sweepMs, () => time.at(time.steadyMs(), () => this.#sweep()));
  }

  send({ origin, headers }: SendRequest, done: (result: SendResult) => void): void {
    const { time, clock, began } = this.options;
    const endpoint = this.options.endpoint(origin);
    const deliveryId = headers[headers.indexOf('webhook-id') + 1] ?? '';
    const at = time.steadyMs();
    const exchange: Exchange = {
      deliveryId,
      origin,
      endpoint,
      at,
      begunAt: clock.deadlineNow(at),
      done,
    };
    this.#open.add(exchange);
    endpoint.open++;
    began(exchange);
    const answer = endpoint.behaviour({
      now: exchange.at,
      open: endpoint.open,
      random: endpoint.random,
    });
    if (answer.kind === 'hangs') return;
    const afterMs = Math.max(1, answer.kind === 'refused' ? REFUSED_MS : answer.afterMs);
    time.at(exchange.at + afterMs, () => this.#end(exchange, answer));
  }

  #sweep(): void {
    const { timeoutMs, clock } = this.options;
    const message = `no complete answer within ${String(timeoutMs)} ms`;
    const oldest = clock.deadlineNow() - timeoutMs;
    for (const exchange of this.#open) {
      if (exchange.begunAt > oldest) break;
      this.#end(exchange, { kind: 'hangs' }, { code: 'timeout', phase: 'headers', message });
    }
  }

  #end(
    exchange: Exchange,
    answer: Answer,
    error?: Extract<SendResult, { ok: false }>['error'],
  ): void {
    if (!this.#open.delete(exchange)) return;
    exchange.endpoint.open--;
    const now = this.options.time.steadyMs();
    const durationMs = now - exchange.at;
    if (answer.kind === 'status') {
      const { status, retryAfterS } = answer;
      const ok = status < 500 && status !== 429;
      this.options.ended(exchange, { ok, status, retryAfterS });
      const headers = retryAfterS === undefined ? {} : { 'retry-after': String(retryAfterS) };
      exchange.done({
        ok: true,
        response: { status, headers, body: Buffer.alloc(0), truncated: false },
        durationMs,
      });
    } else {
      this.options.ended(exchange, { ok: false });
      const refused = {
        code: 'connection' as const,
        phase: 'connect' as const,
        message: 'refused',
      };
      const stoodStill = this.options.clock.stoodStillSince(exchange.begunAt);
      const excuse = stoodStill ? 'own_fault' : undefined;
      exchange.done({ ok: false, error: error ?? refused, durationMs, excuse });
    }
  }
}
