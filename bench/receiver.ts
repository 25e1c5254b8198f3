import { createServer, type Socket } from 'node:net';
import { delayOf, readHead } from './http';
import { clockMs } from './clock';

/**
 * The customers' endpoint of a benchmark, as a process of its own: a bare HTTP/1.1 loop over sockets, since it shares
 * the cores with what is measured. It answers everything with 200, as its path says: at once, late, or never (http.ts).
 */

/** This file, to be started as a process. */
export const RECEIVER_MAIN = __filename;

/** What the parent asks. */
export type ToReceiver =
  /** Forgets all counts and marks. `ids`: note the first arrival of each delivery id */
  | { kind: 'reset'; ids: boolean }
  /** Tells when so many have arrived. */
  | { kind: 'mark'; at: number }
  | { kind: 'report' };

/** What it answers. Times are by the clock that all processes share (clock.ts). */
export type FromReceiver =
  | { kind: 'listening'; port: number }
  | { kind: 'mark'; at: number; atMs: number }
  /** sent every few ms while it rises */
  | { kind: 'count'; count: number }
  | { kind: 'report'; count: number; arrivals: [id: string, atMs: number][] };

const OK = Buffer.from('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok');
const TELL_EVERY_MS = 5;

class Receiver {
  #count = 0;
  #told = 0;
  #ids = false;
  #marks: number[] = [];
  #arrivals = new Map<string, number>();

  take(message: ToReceiver): void {
    switch (message.kind) {
      case 'reset':
        this.#count = this.#told = 0;
        this.#ids = message.ids;
        this.#marks = [];
        this.#arrivals = new Map();
        return;
      case 'mark':
        this.#marks.push(message.at);
        this.#tellMarks();
        return;
      case 'report':
        tell({ kind: 'report', count: this.#count, arrivals: [...this.#arrivals] });
    }
  }

  connected(socket: Socket): void {
    socket.setNoDelay(true);
    let rest: Buffer | undefined;
    socket.on('data', (chunk: Buffer) => {
      const data = rest ? Buffer.concat([rest, chunk]) : chunk;
      let start = 0;
      while (start < data.length) {
        const head = readHead(data, start, this.#ids);
        if (!head || head.end > data.length) break;
        start = head.end;
        this.#arrived(head.id);
        answer(socket, head.path);
      }
      rest = start < data.length ? data.subarray(start) : undefined;
    });
    // A sender that was killed, or that gave up on a path that never answers.
    socket.on('error', () => socket.destroy());
  }

  tellCount(): void {
    if (this.#count === this.#told) return;
    this.#told = this.#count;
    tell({ kind: 'count', count: this.#count });
  }

  #arrived(id: string): void {
    this.#count++;
    if (this.#ids && !this.#arrivals.has(id)) this.#arrivals.set(id, clockMs());
    if (this.#marks.length > 0) this.#tellMarks();
  }

  #tellMarks(): void {
    const reached = this.#marks.filter((at) => at <= this.#count);
    if (reached.length === 0) return;
    this.#marks = this.#marks.filter((at) => at > this.#count);
    for (const at of reached) tell({ kind: 'mark', at, atMs: clockMs() });
  }
}

function answer(socket: Socket, path: string): void {
  const delay = delayOf(path);
  if (delay === 0) socket.write(OK);
  else if (delay !== 'never') setTimeout(() => socket.write(OK), delay);
}

function tell(message: FromReceiver): void {
  process.send?.(message);
}

function main(): void {
  process.title = 'waypost-bench-receiver';
  const receiver = new Receiver();
  const server = createServer((socket) => receiver.connected(socket));
  server.listen(0, '127.0.0.1', () => {
    const address = server.address();
    tell({ kind: 'listening', port: typeof address === 'object' && address ? address.port : 0 });
  });
  setInterval(() => receiver.tellCount(), TELL_EVERY_MS);
  process.on('message', (message) => receiver.take(message as ToReceiver));
  process.on('disconnect', () => process.exit(0));
}

if (require.main === module) main();
