import { type ChildProcess, fork } from 'node:child_process';
import { type FromReceiver, RECEIVER_MAIN, type ToReceiver } from './receiver';

/** The receiver (receiver.ts) as its parent sees it. */
export class Endpoint {
  readonly #waiting: ((message: FromReceiver) => void)[] = [];

  private constructor(
    private readonly child: ChildProcess,
    /** http://host:port */
    readonly origin: string,
  ) {
    child.on('message', (message) => {
      for (const listener of [...this.#waiting]) listener(message as FromReceiver);
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
    return new Endpoint(child, `http://127.0.0.1:${String(port)}`);
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  /** Forgets what came before. @param options.ids note each delivery id (costs a microsecond a request) */
  reset(options: { ids: boolean }): void {
    this.#waiting.length = 0;
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

  /** All that has arrived since the last reset; the first time of each id, if ids were asked for. */
  report(): Promise<{ count: number; arrivals: Map<string, number> }> {
    const report = this.#next((message) =>
      message.kind === 'report' ? { count: message.count, arrivals: new Map(message.arrivals) } : undefined,
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
