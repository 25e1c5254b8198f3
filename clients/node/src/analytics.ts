import {
  type AliasCall,
  type Calls,
  type CallType,
  type GroupCall,
  type IdentifyCall,
  type PageCall,
  type ScreenCall,
  toMessage,
  type TrackCall,
} from './calls.js';
import { Courier, type CourierOptions } from './courier.js';
import { newId } from './id.js';
import { type Queued, toQueued } from './message.js';
import { type Options } from './options.js';
import { detectPlatform, type Platform } from './platform.js';
import { Queue } from './queue.js';
import { later } from './rest.js';

/** An ingest of this format accepts 500 KB, including the envelope. */
const MAX_BATCH_BYTES = 499_000;
/** Browsers send up to 64 KB after their page has closed. */
const MAX_PAGE_BYTES = 60_000;
const MAX_MESSAGE_BYTES = 33_000;
const LEAVE_MS = 10_000;
/** Any value works: the timer is cleared when the awaited promise settles. */
const HOLD_MS = 60_000;

/** Not part of the public API: replacements for tests. */
interface Around {
  platform?: Platform;
  backoffMs?: (failed: number) => number;
}

/**
 * Queues calls and sends them in the background. A call throws `InvalidCallError` if no server
 * would accept it, and returns whether it was queued. The client sends a temporary failure again
 * with the same `messageId`. It drops nothing silently: `onFailed` receives each message that it
 * gives up.
 */
export class Analytics {
  readonly #options: Options;
  readonly #platform: Platform;
  readonly #queue: Queue;
  readonly #courier: Courier;
  readonly #flushAt: number;
  readonly #maxBatchBytes: number;
  readonly #maxInFlight: number;
  readonly #stopListening: () => void;
  #inFlight = 0;
  /** every waiting call is due now */
  #flushing = false;
  #pumping = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #closed: Promise<number> | undefined;

  constructor(options: Options, around: Around = {}) {
    if (!options.writeKey) throw new TypeError('Analytics needs a writeKey');
    const platform = around.platform ?? detectPlatform();
    const { browser } = platform;
    this.#options = options;
    this.#platform = options.fetch ? { ...platform, fetch: options.fetch } : platform;
    this.#queue = new Queue(options.queueBytes ?? (browser ? 4 : 32) * 1024 * 1024);
    this.#courier = new Courier(courierOptions(options, around.backoffMs), this.#platform);
    this.#flushAt = options.flushAt ?? 20;
    this.#maxBatchBytes = browser ? MAX_PAGE_BYTES : MAX_BATCH_BYTES;
    this.#maxInFlight = options.maxInFlight ?? (browser ? 1 : 4);
    this.#stopListening = platform.onLeave(() => this.#leave());
  }

  /** Ties a user to their traits. */
  identify(call: IdentifyCall): boolean {
    return this.#call('identify', call);
  }

  /** Records that a user did something. */
  track(call: TrackCall): boolean {
    return this.#call('track', call);
  }

  /** Records that a user saw a page. */
  page(call: PageCall): boolean {
    return this.#call('page', call);
  }

  /** Records that a user saw a screen of an app. */
  screen(call: ScreenCall): boolean {
    return this.#call('screen', call);
  }

  /** Ties a user to a group, such as a company. */
  group(call: GroupCall): boolean {
    return this.#call('group', call);
  }

  /** Says that two ids belong to one user. */
  alias(call: AliasCall): boolean {
    return this.#call('alias', call);
  }

  /**
   * Resolves when the queue has room for a call. Use it for imports and other work that should slow
   * down rather than lose a call.
   */
  async room(): Promise<void> {
    while (!this.#queue.roomFor(MAX_MESSAGE_BYTES)) {
      this.#sendNow();
      await this.#alive(this.#queue.settled());
    }
  }

  /** Sends the queued calls. Resolves when each is delivered or given up. */
  async flush(): Promise<void> {
    while (this.#queue.held > 0) {
      this.#sendNow();
      await this.#alive(this.#queue.settled());
    }
  }

  /**
   * Accepts no more calls and sends the queued ones. After `timeoutMs` (default 10,000) it gives up
   * the rest.
   * @returns the number of calls given up
   */
  close({ timeoutMs = LEAVE_MS }: { timeoutMs?: number } = {}): Promise<number> {
    this.#closed ??= this.#end(timeoutMs);
    return this.#closed;
  }

  async #end(timeoutMs: number): Promise<number> {
    this.#stopListening();
    this.#courier.hurry();
    let left = 0;
    const deadline = setTimeout(() => {
      left = this.#queue.held;
      this.#courier.end();
      this.#giveUpWaiting();
    }, timeoutMs);
    await this.flush();
    clearTimeout(deadline);
    clearTimeout(this.#timer);
    return left;
  }

  #call<T extends CallType>(type: T, call: Calls[T]): boolean {
    const made = toMessage(type, call, Date.now(), newId);
    const message = this.#options.beforeSend ? this.#options.beforeSend(made) : made;
    if (message === null) return false;
    const queued = toQueued(message);
    if (this.#closed) {
      this.#courier.fail([queued], { code: 'closed', message: 'the client is closed' });
      return false;
    }
    if (!this.#queue.push(queued)) {
      this.#courier.fail([queued], { code: 'queue_full', message: 'the queue is full' });
      this.#sendNow();
      return false;
    }
    this.#pumpSoon();
    return true;
  }

  #sendNow(): void {
    this.#flushing = this.#queue.waiting > 0;
    this.#pump();
  }

  /** Waits until the caller's code has run: calls made together go together. */
  #pumpSoon(): void {
    if (this.#pumping) return;
    this.#pumping = true;
    queueMicrotask(() => {
      this.#pumping = false;
      this.#pump();
    });
  }

  #pump(): void {
    while (this.#inFlight < this.#maxInFlight && this.#due()) void this.#deliver(this.#take());
    if (this.#queue.waiting === 0 || this.#flushing) {
      clearTimeout(this.#timer);
      this.#timer = undefined;
    } else {
      this.#timer ??= later(this.#options.flushAfterMs ?? 5_000, () => {
        this.#timer = undefined;
        this.#sendNow();
      });
    }
  }

  #due(): boolean {
    return this.#queue.waiting > 0 && (this.#flushing || this.#queue.waiting >= this.#flushAt);
  }

  #take(): Queued[] {
    const limits: { maxBytes: number; maxCalls?: number } = { maxBytes: this.#maxBatchBytes };
    if (this.#flushAt === 1) limits.maxCalls = 1;
    const batch = this.#queue.take(limits);
    if (this.#queue.waiting === 0) this.#flushing = false;
    return batch;
  }

  async #deliver(batch: Queued[]): Promise<void> {
    this.#inFlight++;
    await this.#courier.deliver(batch);
    this.#inFlight--;
    this.#queue.settle(batch);
    this.#pump();
  }

  #giveUpWaiting(): void {
    while (this.#queue.waiting > 0) {
      const batch = this.#take();
      this.#courier.fail(batch, {
        code: 'closed',
        message: 'the client was closed before it was sent',
      });
      this.#queue.settle(batch);
    }
  }

  /** A hidden page may not come back, and an idle process ends. */
  #leave(): void {
    if (this.#queue.held === 0) return;
    if (!this.#platform.browser) {
      void this.close();
      return;
    }
    // In parallel: the page may be gone before the first response.
    while (this.#queue.waiting > 0) {
      const batch = this.#take();
      if (this.#courier.beacon(batch)) this.#queue.settle(batch);
      else void this.#deliver(batch);
    }
  }

  /**
   * Keeps the process alive until then, because neither a promise nor a timer of this client does.
   */
  async #alive(until: Promise<void>): Promise<void> {
    const hold = setInterval(() => undefined, HOLD_MS);
    await until;
    clearInterval(hold);
  }
}

function courierOptions(options: Options, backoffMs: CourierOptions['backoffMs']): CourierOptions {
  const { onDelivered, onFailed } = options;
  const courier: CourierOptions = {
    writeKey: options.writeKey,
    endpoint: options.endpoint ?? 'http://localhost:8080',
    gzip: options.gzip ?? true,
    retryForMs: options.retryForMs ?? 3_600_000,
  };
  if (onDelivered) courier.onDelivered = onDelivered;
  if (onFailed) courier.onFailed = onFailed;
  if (backoffMs) courier.backoffMs = backoffMs;
  return courier;
}
