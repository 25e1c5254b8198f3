import { type ChildProcess, fork } from 'node:child_process';
import { type Behaviour, type FromReceiver, RECEIVER_MAIN, type ToReceiver } from './receiver';

/** All that has arrived since the last reset. */
interface Arrived {
  count: number;
  /** the first time of each id that met an origin that answers, if ids were asked for */
  arrivals: Map<string, number>;
  /** the most connections open at once, by origin */
  mostOpen: Map<string, number>;
}

/** The receiver (receiver.ts) as its parent sees it. */
export class Endpoint {
  readonly #waiting: ((message: FromReceiver) => void)[] = [];
  readonly #origins: string[] = [];
  #accepted = 0;

  private constructor(
    private readonly child: ChildProcess,
    /** http://host:port */
    readonly origin: string,
  ) {
    child.on('message', (message) => {
      const told = message as FromReceiver;
      if (told.kind === 'count') this.#accepted = told.accepted;
      for (const listener of [...this.#waiting]) listener(told);
    });
  }

  static async start(): Promise<Endpoint> {
    const child = fork(RECEIVER_MAIN, { execArgv: [] });
    const port = await new Promise<number>((resolve, reject) => {
      child.once('message', (message) => {
        const first = message as FromReceiver;
        if (first.kind === 'listening') resolve(first.port);
      });
      child.once('exit', (code) => reject(new Error(`the receiver ended with code ${String(code)}`)));
    });
    return new Endpoint(child, originOf(port));
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  /** Delivery ids that met an origin that answers since the last reset, if ids were asked for; a few ms old. */
  get accepted(): number {
    return this.#accepted;
  }

  /** So many origins beside the first, all answering as their paths say. Asked again, it gives the same ones. */
  async origins(count: number): Promise<string[]> {
    const missing = count - this.#origins.length;
    if (missing > 0) {
      const opened = this.#next((message) => (message.kind === 'opened' ? message.ports : undefined));
      this.#ask({ kind: 'open', count: missing });
      this.#origins.push(...(await opened).map(originOf));
    }
    this.behave(this.#origins, 'path');
    return this.#origins.slice(0, count);
  }

  /** How these origins answer from now on. */
  behave(origins: readonly string[], as: Behaviour): void {
    this.#ask({ kind: 'behave', ports: origins.map((origin) => Number(new URL(origin).port)), as });
  }

  /** Forgets what came before. @param options.ids note each delivery id (costs a microsecond a request) */
  reset(options: { ids: boolean }): void {
    this.#waiting.length = 0;
    this.#accepted = 0;
    this.#ask({ kind: 'reset', ...options });
  }

  /** Resolves, with the time by clockMs, when so many requests have arrived since the last reset. */
  reached(count: number): Promise<number> {
    const mark = this.#next((message) => (message.kind === 'mark' && message.at === count ? message.atMs : undefined));
    this.#ask({ kind: 'mark', at: count });
    return mark;
  }

  /** Called every few milliseconds with the number that has arrived since the last reset; until the next. */
  onCount(listener: (count: number) => void): void {
    this.#waiting.push((message) => {
      if (message.kind === 'count') listener(message.count);
    });
  }

  report(): Promise<Arrived> {
    const report = this.#next((message) =>
      message.kind === 'report'
        ? {
            count: message.count,
            arrivals: new Map(message.arrivals),
            mostOpen: new Map(message.mostOpen.map(([port, count]) => [originOf(port), count])),
          }
        : undefined,
    );
    this.#ask({ kind: 'report' });
    return report;
  }

  stop(): void {
    this.child.kill('SIGKILL');
  }

  #next<T>(pick: (message: FromReceiver) => T | undefined): Promise<T> {
    return new Promise((resolve) => {
      const listener = (message: FromReceiver) => {
        const picked = pick(message);
        if (picked === undefined) return;
        this.#waiting.splice(this.#waiting.indexOf(listener), 1);
        resolve(picked);
      };
      this.#waiting.push(listener);
    });
  }

  #ask(message: ToReceiver): void {
    this.child.send(message);
  }
}

function originOf(port: number): string {
  return `http://127.0.0.1:${String(port)}`;
}
