import { type ChildProcess, fork } from 'node:child_process';
import { type Certificate } from '../../test/support/certificate';
import { type Behaviour, type FromReceiver, RECEIVER_MAIN, type ToReceiver } from './receiver';

/** Requests that have arrived since the last reset. */
interface Arrived {
  /** webhooks: a batch counts as the number of its deliveries */
  count: number;
  /** requests to a flaky path that got a 503 */
  failed: number;
  /** the first time of each id at an origin that responds, if ids were requested */
  arrivals: Map<string, number>;
  /** the largest number of open connections, by origin */
  mostOpen: Map<string, number>;
}

/** The parent's view of the receiver (receiver.ts). */
export class Endpoint {
  readonly #waiting: ((message: FromReceiver) => void)[] = [];
  readonly #origins: string[] = [];
  #accepted = 0;
  #stopped = false;

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
    child.once('exit', (code, signal) => {
      // Otherwise the measurement would wait for its reports for ever.
      if (!this.#stopped) throw new Error(`the receiver ended: ${String(signal ?? code)}`);
    });
  }

  static async start(): Promise<Endpoint> {
    const child = fork(RECEIVER_MAIN, { execArgv: [] });
    const port = await new Promise<number>((resolve, reject) => {
      child.once('message', (message) => {
        const first = message as FromReceiver;
        if (first.kind === 'listening') resolve(first.port);
      });
      child.once('exit', (code) =>
        reject(new Error(`the receiver ended with code ${String(code)}`)),
      );
    });
    return new Endpoint(child, originOf(port));
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  /**
   * Delivery ids that have reached a responding origin since the last reset, if ids were requested;
   * a few ms old.
   */
  get accepted(): number {
    return this.#accepted;
  }

  /**
   * Opens this many origins beside the first. All respond as their paths say. A second call returns
   * the same ones.
   */
  async origins(count: number): Promise<string[]> {
    const missing = count - this.#origins.length;
    if (missing > 0) {
      const opened = this.#next((message) =>
        message.kind === 'opened' ? message.ports : undefined,
      );
      this.#ask({ kind: 'open', count: missing });
      this.#origins.push(...(await opened).map(originOf));
    }
    this.behave(this.#origins, 'path');
    return this.#origins.slice(0, count);
  }

  /** Opens one more port that speaks TLS, and returns it. It responds as its paths say. */
  async openTls(tls: Certificate): Promise<number> {
    const opened = this.#next((message) => (message.kind === 'opened' ? message.ports : undefined));
    this.#ask({ kind: 'open', count: 1, tls });
    const [port = 0] = await opened;
    return port;
  }

  /** Sets the behaviour of these origins from now on. */
  behave(origins: readonly string[], as: Behaviour): void {
    this.#ask({ kind: 'behave', ports: origins.map((origin) => Number(new URL(origin).port)), as });
  }

  /**
   * Discards all earlier requests.
   * @param options.ids records each delivery id (costs a microsecond a request)
   */
  reset(options: { ids: boolean }): void {
    this.#waiting.length = 0;
    this.#accepted = 0;
    this.#ask({ kind: 'reset', ...options });
  }

  /**
   * Resolves, with the time of clockMs, when this many webhooks have arrived since the last reset.
   */
  reached(count: number): Promise<number> {
    const mark = this.#next((message) =>
      message.kind === 'mark' && message.at === count ? message.atMs : undefined,
    );
    this.#ask({ kind: 'mark', at: count });
    return mark;
  }

  /**
   * Calls the listener every few milliseconds with the number of webhooks since the last reset; the
   * next call replaces it.
   */
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
            failed: message.failed,
            arrivals: new Map(message.arrivals),
            mostOpen: new Map(message.mostOpen.map(([port, count]) => [originOf(port), count])),
          }
        : undefined,
    );
    this.#ask({ kind: 'report' });
    return report;
  }

  stop(): void {
    this.#stopped = true;
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
