import { createServer, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { type Certificate } from '../../test/support/certificate';
import { type Head, readHead } from './raw-server';
import { clockMs } from './timing';

/**
 * The customers' endpoints of a benchmark in a separate process: a bare HTTP/1.1 loop over sockets,
 * because it shares the cores with the measured system. Each port is one origin. It responds with
 * 200 immediately, with some 503 between if the path says so (`failsEvery`), until the parent lets
 * a port hang or fail.
 */

/** This file, to be started as a process. */
export const RECEIVER_MAIN = __filename;

/** What a hostile endpoint sends without end, as fast as it is read. */
type Flood = 'interim' | 'headers' | 'trailers' | 'trickle';
/**
 * What hostile endpoints do.
 * - `trickle`: a byte of a body each few ms
 * - `controls`: 16 KB of control characters, which take six times that as JSON, with a status that
 *   is retried and opens no circuit
 * - `batched`: the same to batches
 * - `named`: to batches, a 200 of that length which names all members but the first as failed
 */
export const HOSTILE = [
  'interim',
  'headers',
  'trailers',
  'trickle',
  'controls',
  'batched',
  'named',
] as const satisfies readonly (Flood | 'controls' | 'batched' | 'named')[];
export type Hostile = (typeof HOSTILE)[number];
/** Their destinations send batches. */
export const BATCHED: ReadonlySet<string | undefined> = new Set<Hostile>(['batched', 'named']);
/** `path`: as the path says; `hang`: reads and never responds. */
export type Behaviour = 'path' | 'hang' | Hostile;

/** The requests of the parent. */
export type ToReceiver =
  /**
   * Resets all counts and marks. `ids`: record when each delivery id first reached a responding
   * port
   */
  | { kind: 'reset'; ids: boolean }
  /** Reports when this many webhooks have arrived. */
  | { kind: 'mark'; at: number }
  /** Listens on this many more ports. `tls`: with this certificate */
  | { kind: 'open'; count: number; tls?: Certificate }
  | { kind: 'behave'; ports: number[]; as: Behaviour }
  | { kind: 'report' };

/** Its responses. Times are of the clock that all processes share (timing.ts). */
export type FromReceiver =
  | { kind: 'listening'; port: number }
  | { kind: 'opened'; ports: number[] }
  | { kind: 'mark'; at: number; atMs: number }
  /**
   * sent every few ms while it rises; `count`: webhooks, of which a batch has several; `accepted`:
   * delivery ids that have reached a responding port, if ids were requested
   */
  | { kind: 'count'; count: number; accepted: number }
  | {
      kind: 'report';
      count: number;
      /** requests to a flaky path that got a 503 */
      failed: number;
      arrivals: [id: string, atMs: number][];
      mostOpen: [port: number, count: number][];
    };

const OK = Buffer.from('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok');
/** The longest body that delivery reads. */
const LONGEST_BYTES = 16 * 1024;
export const CONTROLS = Buffer.from(
  `HTTP/1.1 425 Too Early\r\ncontent-length: ${String(LONGEST_BYTES)}\r\n\r\n` +
    '\u0001'.repeat(LONGEST_BYTES),
);
/** Returns a body that names all members but the first of a batch of this size as failed. */
export function namingBody(size: number): string {
  const failed = Array.from({ length: size - 1 }, (_, i) => ({ index: i + 1, status: 503 }));
  const bodyWith = (pad: string) => JSON.stringify({ failed, pad });
  // A quotation mark takes two bytes as JSON, and four as JSON in JSON.
  return bodyWith('"'.repeat(Math.floor((LONGEST_BYTES - bodyWith('').length) / 2)));
}

const namingAnswers = new Map<number, Buffer>();

function namingAnswer(size: number): Buffer {
  const known = namingAnswers.get(size);
  if (known) return known;
  const body = namingBody(size);
  const answer = Buffer.from(
    'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n' +
      `content-length: ${String(body.length)}\r\n\r\n${body}`,
  );
  namingAnswers.set(size, answer);
  return answer;
}

const FAILED = Buffer.from('HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n');
const TELL_EVERY_MS = 5;
/** No webhook is delivered to these. */
const WITHOUT_STATUS: ReadonlySet<Behaviour> = new Set(['hang', 'interim', 'controls', 'batched']);

/** One port. */
interface Door {
  as: Behaviour;
  /** connections now, and the maximum since the last reset */
  open: number;
  mostOpen: number;
}

class Receiver {
  readonly #doors = new Map<number, Door>();
  /** webhooks: a batch counts as the number of its deliveries */
  #count = 0;
  #flaky = 0;
  #failed = 0;
  #told = 0;
  #ids = false;
  #marks: number[] = [];
  #arrivals = new Map<string, number>();

  take(message: ToReceiver): void {
    switch (message.kind) {
      case 'reset':
        return this.#reset(message.ids);
      case 'mark':
        this.#marks.push(message.at);
        this.#tellMarks();
        return;
      case 'open':
        void Promise.all(
          Array.from({ length: message.count }, () => this.listen(message.tls)),
        ).then((ports) => tell({ kind: 'opened', ports }));
        return;
      case 'behave':
        for (const port of message.ports) {
          const door = this.#doors.get(port);
          if (door) door.as = message.as;
        }
        return;
      case 'report':
        tell({
          kind: 'report',
          count: this.#count,
          failed: this.#failed,
          arrivals: [...this.#arrivals],
          mostOpen: [...this.#doors].map(([port, { mostOpen }]) => [port, mostOpen]),
        });
    }
  }

  /** Resolves with the port. */
  listen(tls?: Certificate): Promise<number> {
    const door: Door = { as: 'path', open: 0, mostOpen: 0 };
    const accept = (socket: Socket) => this.#connected(socket, door);
    const server = tls
      ? createTlsServer({ key: tls.key, cert: tls.cert }, accept)
      : createServer(accept);
    return new Promise((resolve) => {
      server.listen(0, '127.0.0.1', () => {
        const address = server.address();
        const port = typeof address === 'object' && address ? address.port : 0;
        this.#doors.set(port, door);
        resolve(port);
      });
    });
  }

  tellCount(): void {
    if (this.#count === this.#told) return;
    this.#told = this.#count;
    tell({ kind: 'count', count: this.#count, accepted: this.#arrivals.size });
  }

  #reset(ids: boolean): void {
    this.#count = this.#flaky = this.#failed = this.#told = 0;
    this.#ids = ids;
    this.#marks = [];
    this.#arrivals = new Map();
    for (const door of this.#doors.values()) door.mostOpen = door.open;
  }

  #connected(socket: Socket, door: Door): void {
    socket.setNoDelay(true);
    door.mostOpen = Math.max(door.mostOpen, ++door.open);
    socket.once('close', () => door.open--);
    let rest: Buffer | undefined;
    socket.on('data', (chunk: Buffer) => {
      const data = rest ? Buffer.concat([rest, chunk]) : chunk;
      let start = 0;
      while (start < data.length) {
        const head = readHead(data, start, this.#ids);
        if (!head || head.end > data.length) break;
        start = head.end;
        this.#arrived(head, door);
        if (this.#fails(head.path)) socket.write(FAILED);
        else answer(socket, door, head);
      }
      rest = start < data.length ? data.subarray(start) : undefined;
    });
    // A sender that was killed, or that timed out on a path without a response.
    socket.on('error', () => socket.destroy());
  }

  #arrived({ id, deliveries }: Head, door: Door): void {
    this.#count += deliveries?.length ?? 1;
    if (this.#ids && !WITHOUT_STATUS.has(door.as)) {
      const all = deliveries ?? [id];
      for (const each of door.as === 'named' ? all.slice(0, 1) : all) {
        if (!this.#arrivals.has(each)) this.#arrivals.set(each, clockMs());
      }
    }
    if (this.#marks.length > 0) this.#tellMarks();
  }

  #fails(path: string): boolean {
    const every = failsEvery(path);
    if (every === undefined || ++this.#flaky % every !== 0) return false;
    this.#failed++;
    return true;
  }

  #tellMarks(): void {
    const reached = this.#marks.filter((at) => at <= this.#count);
    if (reached.length === 0) return;
    this.#marks = this.#marks.filter((at) => at > this.#count);
    for (const at of reached) tell({ kind: 'mark', at, atMs: clockMs() });
  }
}

function answer(socket: Socket, { as }: Door, { deliveries }: Head): void {
  if (as === 'hang') return;
  if (as === 'controls' || as === 'batched') {
    socket.write(CONTROLS);
    return;
  }
  if (as === 'named') {
    socket.write(namingAnswer(deliveries?.length ?? 1));
    return;
  }
  if (as !== 'path') {
    flood(socket, as);
    return;
  }
  socket.write(OK);
}

const CHUNKED = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';
/** What comes first, and then again and again. */
const FLOODS: Readonly<Record<Flood, readonly [first: string, again: string]>> = {
  interim: ['', 'HTTP/1.1 102 Processing\r\n\r\n'],
  headers: ['HTTP/1.1 200 OK\r\n', 'a: b\r\n'],
  trailers: [`${CHUNKED}2\r\nok\r\n0\r\n`, 'a: b\r\n'],
  trickle: [CHUNKED, '1\r\nx\r\n'],
};
const FLOOD_BYTES = 16 * 1024;
const TRICKLE_MS = 5;

function flood(socket: Socket, as: Flood): void {
  const [start, again] = FLOODS[as];
  const part = as === 'trickle' ? again : again.repeat(Math.ceil(FLOOD_BYTES / again.length));
  const more = () => {
    if (socket.destroyed) return;
    if (as === 'trickle') setTimeout(() => socket.write(part, more), TRICKLE_MS);
    // A write that the kernel takes at once must not keep the receiver from everything else.
    else socket.write(part, () => setImmediate(more));
  };
  socket.write(start, more);
}

/** Returns n if one request in n to a path fails: `/flaky-50/…`; undefined for any other path. */
export function failsEvery(path: string): number | undefined {
  if (!path.startsWith('/flaky-')) return undefined;
  const every = Number.parseInt(path.slice('/flaky-'.length), 10);
  return every > 0 ? every : undefined;
}

function tell(message: FromReceiver): void {
  process.send?.(message);
}

async function main(): Promise<void> {
  process.title = 'waypost-bench-receiver';
  const receiver = new Receiver();
  process.on('message', (message) => receiver.take(message as ToReceiver));
  process.on('disconnect', () => process.exit(0));
  setInterval(() => receiver.tellCount(), TELL_EVERY_MS);
  tell({ kind: 'listening', port: await receiver.listen() });
}

if (require.main === module) void main();
