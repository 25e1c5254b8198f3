import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { type TLSSocket } from 'node:tls';
import { buildConnector, Client, type Dispatcher } from 'undici';
import { defined } from '../../../shared/collections/defined';
import { makeCertificate } from '../../../test/support/certificate';
import { clockMs } from '../../harness/timing';
import { cpuBetween, readCpu } from '../../harness/usage';
import { percentile } from '../arithmetic';
import { bodyOf, signedHeaders } from '../payload';
import { type Progress } from '../progress';
import { type Http2Figure, type Protocol, type ProtocolFigure } from '../report/figures';
import { HTTP2_ENDPOINT_MAIN } from './http2-endpoint';

/**
 * HTTP/1.1 and HTTP/2 to one TLS endpoint, by undici with the options of delivery: kept
 * connections, each with one request at a time; TLS sessions that continue; no timers of undici.
 * Each case runs in a separate process.
 */

export interface Http2Size {
  /** the time that the endpoint takes */
  delayMs: number;
  /** numbers of concurrent requests */
  streams: number[];
  seconds: number;
  /** requests without a delay, before each case */
  warmUp: number;
  /** requests with a new connection each */
  openings: number;
}

/** This file, to be started as a process. */
const CLIENT_MAIN = __filename;
const BODIES = 200;
/** Concurrent requests of the warm-up, and of the requests with new connections. */
const WARM_UP_STREAMS = 20;
const OPENING_STREAMS = 4;

interface Case {
  protocol: Protocol;
  /** 0: each request has a new connection */
  streams: number;
  size: Http2Size;
  origin: string;
  ca: string;
  endpointPid: number;
}

const PROTOCOLS: readonly Protocol[] = ['HTTP/1.1', 'HTTP/2', 'HTTP/2, a connection for each'];

export async function measureHttp2(size: Http2Size, progress: Progress): Promise<Http2Figure> {
  const certificate = makeCertificate();
  const endpoint = fork(HTTP2_ENDPOINT_MAIN, [JSON.stringify(certificate)], { execArgv: [] });
  try {
    const port = await answerOf<number>(endpoint);
    const common = { size, origin: `https://localhost:${String(port)}`, ca: certificate.cert };
    const run = (protocol: Protocol, streams: number) => {
      progress.note(
        streams > 0 ? `${protocol}, ${String(streams)} at once` : `${protocol}, new connections`,
      );
      const options: Case = { ...common, protocol, streams, endpointPid: endpoint.pid ?? 0 };
      return answerOf<ProtocolFigure>(
        fork(CLIENT_MAIN, [JSON.stringify(options)], { execArgv: [] }),
      );
    };
    const cases: ProtocolFigure[] = [];
    const openings: ProtocolFigure[] = [];
    // The protocols alternate, since the speed of the machine changes.
    for (const streams of size.streams) {
      for (const protocol of PROTOCOLS) cases.push(await run(protocol, streams));
    }
    for (const protocol of PROTOCOLS.slice(0, 2)) openings.push(await run(protocol, 0));
    return { delayMs: size.delayMs, cases, openings };
  } finally {
    endpoint.kill('SIGKILL');
  }
}

async function answerOf<T>(child: ChildProcess): Promise<T> {
  const failed = once(child, 'exit').then(([code]) => {
    throw new Error(`a process of the measurement ended with code ${String(code)}`);
  });
  failed.catch(() => undefined);
  const [message] = (await Promise.race([once(child, 'message'), failed])) as [T];
  return message;
}

async function main(options: Case): Promise<void> {
  process.title = 'waypost-bench-http2';
  const { size, protocol, streams, endpointPid } = options;
  const peer = new Peer(options);
  const isOpening = streams === 0;
  await peer.load({
    path: '/ok/',
    streams: WARM_UP_STREAMS,
    more: counted(size.warmUp),
    isOpening: false,
  });
  await peer.close();
  if (isOpening) {
    await peer.load({
      path: '/ok/',
      streams: OPENING_STREAMS,
      more: counted(size.openings / 4),
      isOpening,
    });
  }
  const pids = { client: process.pid, endpoint: endpointPid };
  // Opens the connections that the case keeps.
  const path = isOpening ? '/ok/' : `/slow-${String(size.delayMs)}/`;
  const width = isOpening ? OPENING_STREAMS : streams;
  if (!isOpening) await peer.load({ path, streams, more: counted(streams), isOpening });
  const [from, used] = [readCpu(pids), process.cpuUsage()];
  const end = clockMs() + size.seconds * 1000;
  const more = isOpening ? counted(size.openings) : () => clockMs() < end;
  const latencies = await peer.load({ path, streams: width, more, isOpening });
  const { user, system } = process.cpuUsage(used);
  const figure: ProtocolFigure = {
    protocol,
    streams,
    count: latencies.length,
    microsEach: (user + system) / latencies.length,
    p50Ms: percentile(latencies, 0.5),
    p99Ms: percentile(latencies, 0.99),
    sockets: peer.mostOpen,
    cpu: cpuBetween(from, readCpu(pids)),
  };
  process.send?.(figure);
  await peer.close();
  process.disconnect();
}

/** Returns a condition that holds for this many calls. */
function counted(count: number): () => boolean {
  let left = count;
  return () => left-- > 0;
}

interface Load {
  path: string;
  /** concurrent requests */
  streams: number;
  /** called before each request */
  more: () => boolean;
  /** each request has a new connection */
  isOpening: boolean;
}

/** The clients of the endpoint. */
class Peer {
  readonly #bodies = Array.from({ length: BODIES }, (_, i) =>
    JSON.stringify(bodyOf(i, `http2-${String(i)}`)),
  );
  readonly #isH2: boolean;
  #clients: Client[] = [];
  #session: Buffer | undefined;
  #open = 0;
  #sent = 0;
  /** the largest number of open sockets since the last `close` */
  mostOpen = 0;

  constructor(private readonly options: Case) {
    this.#isH2 = options.protocol !== 'HTTP/1.1';
  }

  /** Sends requests without a pause. @returns their latencies, ms */
  async load({ path, streams, more, isOpening }: Load): Promise<number[]> {
    const latencies: number[] = [];
    const worker = async (_: unknown, n: number) => {
      while (more()) {
        const startedAt = clockMs();
        const client = isOpening ? this.#client() : this.#kept(n);
        await this.#post(client, path);
        if (isOpening) await client.destroy();
        latencies.push(clockMs() - startedAt);
      }
    };
    await Promise.all(Array.from({ length: streams }, worker));
    return latencies;
  }

  async close(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.destroy()));
    this.#clients = [];
    this.mostOpen = 0;
  }

  /** Returns the client of one of the concurrent requests. */
  #kept(n: number): Client {
    const place = this.options.protocol === 'HTTP/2' ? 0 : n;
    return (this.#clients[place] ??= this.#client());
  }

  #client(): Client {
    const streams = Math.max(this.options.streams, WARM_UP_STREAMS);
    return new Client(this.options.origin, {
      connect: (target, done) => this.#connect(target, done),
      allowH2: this.#isH2,
      ...(this.#isH2 ? { pipelining: streams, maxConcurrentStreams: streams } : { pipelining: 1 }),
      keepAliveTimeout: 50_000,
    });
  }

  #connect(target: buildConnector.Options, done: buildConnector.Callback): void {
    const session = this.#session;
    const connect = buildConnector({
      ca: this.options.ca,
      rejectUnauthorized: true,
      maxCachedSessions: 0,
      allowH2: this.#isH2,
      ...defined({ session }),
    });
    const spoken = this.#isH2 ? 'h2' : 'http/1.1';
    // undici's type says void, but its connector returns the socket.
    // eslint-disable-next-line @typescript-eslint/no-confusing-void-expression
    const socket = connect(target, (...[error, opened]) => {
      if (error) return done(error, null);
      const { alpnProtocol } = opened as TLSSocket;
      if (alpnProtocol !== spoken) {
        return done(new Error(`the endpoint speaks ${String(alpnProtocol)}`), null);
      }
      this.mostOpen = Math.max(this.mostOpen, ++this.#open);
      opened.once('close', () => this.#open--);
      return done(null, opened);
    }) as unknown as TLSSocket;
    socket.on('session', (made: Buffer) => (this.#session = made));
  }

  #post(client: Client, path: string): Promise<void> {
    const body = this.#bodies[this.#sent++ % BODIES] ?? '';
    // Without `idempotent` undici sends one POST at a time, even over HTTP/2.
    const request: Dispatcher.DispatchOptions = {
      method: 'POST',
      path,
      headers: signedHeaders(body),
      body,
      idempotent: this.#isH2,
      headersTimeout: 0,
      bodyTimeout: 0,
    };
    return new Promise((resolve, reject) => {
      let status = 0;
      client.dispatch(request, {
        onRequestStart: () => undefined,
        onResponseStart: (_controller, code) => {
          status = code;
        },
        onResponseData: () => undefined,
        onResponseEnd: () => {
          if (status === 200) resolve();
          else reject(new Error(`the endpoint answered ${String(status)}`));
        },
        onResponseError: (_controller, error) => reject(error),
      });
    });
  }
}

if (require.main === module) {
  main(JSON.parse(process.argv[2] ?? '{}') as Case).catch((error: unknown) => {
    console.error(error);
    process.exit(1);
  });
}
