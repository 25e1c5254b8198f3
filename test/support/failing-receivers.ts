import { makeCertificate } from './certificate';
import { onRequests, startNeverAccepting, startRawServer } from '../../tools/harness/raw-server';
import { type Answer } from '../../tools/harness/respond';
import { startSink } from '../../tools/harness/sink';

/** Failing receivers, each with its own fault and port. */
export interface FailingReceiver {
  url: string;
  /** the most connections that were open at a time; 0 if unknown */
  readonly maxConnections: number;
  close(): Promise<void>;
}

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';
const DRIP_MS = 100;
const MANY_HEADERS = `x-padding: ${'x'.repeat(1_000)}\r\n`.repeat(64);

/** @param slowMs time that `is slow` takes to respond */
export function failingReceivers(slowMs: number) {
  return {
    'never answers': () => http({ misbehave: 'hang' }),
    'is slow': () => http({ delayMs: slowMs }),
    'never reads': async () => uncounted(await raw(() => undefined)),
    'never reads the body': () => http({ misbehave: 'never_read' }),
    'never accepts': () => at('http', startNeverAccepting()),
    // As after a restart of a proxy that forgot its connections: requests on an old connection
    // vanish.
    'forgets its connections': () =>
      raw((socket) => onRequests(socket, (nth) => (nth === 0 ? socket.write(OK) : undefined))),
    'drips its head': () =>
      raw((socket) => {
        socket.resume();
        socket.write('HTTP/1.1 200 OK\r\nx-padding: ');
        const timer = setInterval(() => socket.write('x'), DRIP_MS);
        socket.once('close', () => clearInterval(timer));
      }),
    'drips its body': () => http({ misbehave: 'drip', dripMs: DRIP_MS }),
    'answers without end': () => http({ misbehave: 'endless' }),
    'answers with a head too large': () =>
      raw((socket) =>
        onRequests(socket, () =>
          socket.write(`HTTP/1.1 200 OK\r\n${MANY_HEADERS}content-length: 2\r\n\r\nok`),
        ),
      ),
    'speaks something else': () =>
      raw((socket) => onRequests(socket, () => socket.write('220 ready for mail\r\n'))),
    resets: () => http({ misbehave: 'reset' }),
    'resets within the body': () =>
      raw((socket) =>
        onRequests(socket, () => {
          socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf of', () => {
            setTimeout(() => socket.resetAndDestroy(), DRIP_MS);
          });
        }),
      ),
    'hangs up': () => raw((socket) => socket.resume().end()),
    'stalls in TLS': () =>
      at(
        'https',
        startRawServer((socket) => socket.resume()),
      ),
    'resets in TLS': () =>
      at(
        'https',
        startRawServer((socket) => socket.once('data', () => socket.resetAndDestroy()).resume()),
      ),
    'has no TLS': () => at('https', startSink()),
    'proves nothing': () =>
      at('https', startSink({ tls: makeCertificate({ hosts: ['shop.example'] }) })),
  } satisfies Record<string, () => Promise<FailingReceiver>>;
}

async function http(answer: Answer): Promise<FailingReceiver> {
  const sink = await startSink();
  sink.on('*', answer);
  return at('http', Promise.resolve(sink));
}

function raw(onConnection: Parameters<typeof startRawServer>[0]): Promise<FailingReceiver> {
  return at('http', startRawServer(onConnection));
}

/**
 * A socket that is not read does not report its end either, so that connections cannot be counted.
 */
function uncounted({ url, close }: FailingReceiver): FailingReceiver {
  return { url, maxConnections: 0, close };
}

async function at(
  scheme: string,
  starting: Promise<{ port: number; readonly maxConnections: number; close(): Promise<void> }>,
): Promise<FailingReceiver> {
  const server = await starting;
  return {
    url: `${scheme}://127.0.0.1:${String(server.port)}/sick`,
    get maxConnections() {
      return server.maxConnections;
    },
    close: () => server.close(),
  };
}
