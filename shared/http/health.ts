import { createServer, type Server } from 'node:http';
import { AppError } from '../errors';
import { type Consumption } from '../kafka/port';
import { metrics } from '../telemetry/metrics';
import { PROMETHEUS_TYPE, renderMetrics } from '../telemetry/prometheus';

/** What a service says of itself: an empty list is "all well". */
export interface Health {
  /** Why the process should be restarted (a consumer loop that no longer turns). A missing broker is not a reason. */
  notLive(): string[];
  /** Why it should get no work yet, or no more. */
  notReady(): string[];
  /** What of it does not work while the rest does: said by `/readyz`, which stays 200. */
  degraded?(): string[];
}

/** The health of a service that lives by a consumer: set `consumption` once it runs, `stopping` when it drains. */
export class ConsumerHealth implements Health {
  consumption: Consumption | undefined;
  stopping = false;
  /** further reasons not to be ready */
  trouble: () => string[] = () => [];

  notLive(): string[] {
    const stuck = this.consumption?.stuck();
    return stuck === undefined ? [] : [stuck];
  }

  notReady(): string[] {
    if (this.stopping) return ['stopping'];
    return [...this.trouble(), ...(this.consumption?.joined ? [] : ['not yet in its consumer group'])];
  }
}

/** `/livez`, `/readyz` and `/metrics` on a port of their own. `close` is idempotent. */
export async function serveHealth(options: {
  host: string;
  port: number;
  health: Health;
}): Promise<{ port: number; close(): void }> {
  const server = createServer((req, res) => {
    const path = (req.url ?? '/').split('?', 1)[0];
    if (path === '/livez' || path === '/readyz') {
      const reasons = path === '/livez' ? options.health.notLive() : options.health.notReady();
      res.writeHead(reasons.length === 0 ? 200 : 503, { 'content-type': 'application/json' });
      const degraded = path === '/readyz' ? (options.health.degraded?.() ?? []) : [];
      res.end(JSON.stringify({ ok: reasons.length === 0, reasons, ...(degraded.length > 0 && { degraded }) }));
    } else if (path === '/metrics') {
      renderMetrics(metrics).then(
        (text) => res.writeHead(200, { 'content-type': PROMETHEUS_TYPE }).end(text),
        () => res.writeHead(500).end(),
      );
    } else {
      res.writeHead(404).end();
    }
  });
  const port = await listen(server, options.port, options.host);
  return { port, close: () => server.close() };
}

/**
 * Listens, and says plainly why not.
 * @returns the port, which is another than asked for where that was 0
 * @throws AppError `cannot_start` for a port in use or not allowed
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
