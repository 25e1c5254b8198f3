import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { compact, defined } from '../collections/defined';
import { limitConnections, limitUnanswered, type Timeouts } from './connections';
import { AppError } from './errors';
import { metrics } from '../telemetry/metrics';
import { PROMETHEUS_TYPE, renderMetrics } from '../telemetry/prometheus';

/** The health of a service. An empty list means healthy. */
export interface Health {
  /**
   * Reasons to restart the process (a consumer loop that no longer turns). A missing broker is not
   * one.
   */
  notLive(): string[];
  /** Reasons why the process should get no work yet, or no more. */
  notReady(): string[];
  /** Parts that do not work while the rest does. `/readyz` lists them and stays 200. */
  degraded?(): string[];
  /** set once the service follows `config`, if it depends on it */
  config?: TopicAge | undefined;
  /** set once the service follows `deletions`, if it depends on it */
  deletions?: TopicAge | undefined;
  /** set when the service stops, which makes it not ready */
  stopping?: boolean;
}

/** The reader of a topic that is followed as a whole, as far as its health goes. */
interface TopicAge {
  /** all that was in the topic at this time, by `performance.now()`, is known */
  readonly completeAt: number;
  stuck(): string | undefined;
}

/** A consumer, as far as its health goes. */
interface Consumer {
  readonly joined: boolean;
  stuck(): string | undefined;
}

/**
 * Age from which `/readyz` reports `config` or `deletions` as old. The service uses the `config` it
 * has then. Without `deletions` it sends no calls of users that are older.
 */
const OLD_MS = 60_000;

/** The health of a service with a consumer. */
export class ConsumerHealth implements Health {
  config: Health['config'];
  deletions: Health['deletions'];
  stopping = false;
  /** further reasons not to be ready */
  trouble: () => string[] = () => [];

  /** @param consumer undefined until it runs */
  constructor(private readonly consumer: () => Consumer | undefined) {}

  notLive(): string[] {
    const stuck = this.consumer()?.stuck();
    return stuck === undefined ? [] : [stuck];
  }

  notReady(): string[] {
    return compact([
      ...this.trouble(),
      this.consumer()?.joined ? undefined : 'not yet in its consumer group',
    ]);
  }
}

/**
 * Longer than any pause of a healthy loop: long polls take 100 ms, and requests time out after 10
 * s.
 */
const STUCK_AFTER_MS = 60_000;

/**
 * Tracks whether a consumer's fetch loop still turns. An unreachable or hanging broker does not
 * count as a stuck loop: a request that times out and is retried counts as progress.
 */
export class PollLiveness {
  #turnedAt: number;

  /** @param now a clock that does not jump when the machine's clock is set, ms */
  constructor(private readonly now: () => number = () => performance.now()) {
    this.#turnedAt = now();
  }

  recordPoll(): void {
    this.#turnedAt = this.now();
  }

  /** ms since the last turn */
  get pollAgeMs(): number {
    return this.now() - this.#turnedAt;
  }

  stuck(): string | undefined {
    const age = this.pollAgeMs;
    return age > STUCK_AFTER_MS
      ? `the consumer loop has not turned for ${Math.round(age)} ms`
      : undefined;
  }
}

/** Enough for the probes and the scrapers of a network. One address gets two thirds of them. */
export const HEALTH_CONNECTIONS = 64;
/** Requests have no body, and come from the same network. */
const TIMEOUTS: Timeouts = {
  headersTimeout: 5_000,
  requestTimeout: 10_000,
  timeout: 10_000,
  connectionsCheckingInterval: 10_000,
};

/**
 * The health of each service of a process by its name; undefined: it has not opened its port yet.
 */
export type ProcessHealth = ReadonlyMap<string, Health | undefined>;

/**
 * Serves `/livez`, `/readyz` and `/metrics` on a separate port, and `/livez/all` and `/readyz/all`
 * for all services of the process. `close` is idempotent.
 */
export async function serveHealth(options: {
  host: string;
  port: number;
  maxConnections: number;
  health: Health;
  all: ProcessHealth;
  timeouts?: Timeouts;
}): Promise<{ port: number; close(): void }> {
  const { timeouts = TIMEOUTS, maxConnections } = options;
  const handle = (req: IncomingMessage, res: ServerResponse) => {
    const path = (req.url ?? '/').split('?', 1)[0];
    if (path === '/livez') {
      answer(res, livenessOf(options.health));
    } else if (path === '/readyz') {
      answer(res, readinessOf(options.health));
    } else if (path === '/livez/all') {
      answer(
        res,
        ofAll(options.all, (health) => (health ? livenessOf(health).reasons : [])),
      );
    } else if (path === '/readyz/all') {
      answer(
        res,
        ofAll(options.all, (health) => (health ? notReadyReasons(health) : NOT_OPEN)),
      );
    } else if (path === '/metrics') {
      renderMetrics(metrics).then(
        (text) => res.writeHead(200, { 'content-type': PROMETHEUS_TYPE }).end(text),
        () => res.writeHead(500).end(),
      );
    } else {
      res.writeHead(404).end();
    }
  };
  const server = createServer(timeouts, limitUnanswered(handle));
  limitConnections(server, { maxConnections, timeouts });
  const port = await listen(server, options.port, options.host);
  return { port, close: () => server.close() };
}

interface Answer {
  reasons: string[];
  degraded?: string[];
  configAgeMs?: number;
}

function answer(res: ServerResponse, said: Answer): void {
  const ok = said.reasons.length === 0;
  res.writeHead(ok ? 200 : 503, { 'content-type': 'application/json' });
  res.end(JSON.stringify({ ok, ...said }));
}

const NOT_OPEN = ['it is being opened'];

function ofAll(all: ProcessHealth, judge: (health: Health | undefined) => string[]): Answer {
  const reasons = [...all].flatMap(([name, health]) =>
    judge(health).map((reason) => `${name}: ${reason}`),
  );
  return { reasons };
}

function livenessOf(health: Health): Answer {
  const stuck = [health.config?.stuck(), health.deletions?.stuck()];
  return { reasons: compact([...health.notLive(), ...stuck]) };
}

/** Returns why the process should get no traffic now; empty if it may. */
export function notReadyReasons(health: Health): string[] {
  return health.stopping ? ['stopping'] : health.notReady();
}

function readinessOf(health: Health): Answer {
  const { config, deletions } = health;
  const degraded = compact([
    ...(health.degraded?.() ?? []),
    config && oldOf('config', config),
    deletions && oldOf('deletions', deletions),
  ]);
  return {
    reasons: notReadyReasons(health),
    ...defined({
      degraded: degraded.length > 0 ? degraded : undefined,
      configAgeMs: config && ageOf(config),
    }),
  };
}

function oldOf(topic: string, read: TopicAge): string | undefined {
  const ageMs = ageOf(read);
  return ageMs > OLD_MS
    ? `${topic} has not been read to its end for ${Math.round(ageMs / 1_000)} s: Kafka does not answer`
    : undefined;
}

function ageOf({ completeAt }: TopicAge): number {
  return Math.round(performance.now() - completeAt);
}

/**
 * Listens, and explains a failure in one sentence.
 * @returns the bound port, which differs from a requested port of 0
 * @throws AppError `cannot_start` for a port that is in use or not allowed
 */
export async function listen(server: Server, port: number, host: string): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const why =
        error.code === 'EADDRINUSE'
          ? `port ${String(port)} on ${host} is in use; stop what uses it or choose another port`
          : `cannot listen on ${host}:${String(port)}: ${error.message}`;
      reject(new AppError('cannot_start', why, false, { cause: error }));
    });
    server.listen(port, host, resolve);
  });
  const address = server.address();
  return typeof address === 'object' && address ? address.port : port;
}
