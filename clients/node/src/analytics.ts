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

/** 500 KB is what an ingest of this format takes, the envelope counted in. */
const MAX_BATCH_BYTES = 499_000;
/** Browsers let 64 KB outlive their page. */
const MAX_PAGE_BYTES = 60_000;
const MAX_MESSAGE_BYTES = 33_000;
const LEAVE_MS = 10_000;
/** As long as any: it is cleared when what it waits for has come. */
const HOLD_MS = 60_000;

/** Not part of what is promised: what tests put in the place of the real thing. */
interface Around {
  platform?: Platform;
  backoffMs?: (failed: number) => number;
}

/**
 * Queues calls and sends them in the background. A call throws `InvalidCallError` where no server would take it, and
 * returns whether it was queued. What fails in a way that may pass is sent again under the same `messageId`; nothing is
 * dropped silently: `onFailed` hears of it.
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
  /** what waits is due, however little it is */
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

  /** Ties a user to what is known of them. */
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

  /** Says that two ids are one user's. */
  alias(call: AliasCall): boolean {
    return this.#call('alias', call);
  }

  /** Resolves when the queue has room for a call: for imports and all else that would rather be slow than lose one. */
  async room(): Promise<void> {
    while (!this.#queue.roomFor(MAX_MESSAGE_BYTES)) {
      this.#sendNow();
      await this.#alive(this.#queue.settled());
    }
  }

  /** Sends what is queued. Resolves when all of it is delivered or given up. */
  async flush(): Promise<void> {
    while (this.#queue.held > 0) {
      this.#sendNow();
      await this.#alive(this.#queue.settled());
    }
  }

  /**
   * Takes no more calls and sends what is queued. What is not delivered after `timeoutMs` (default 10,000) is given up.
   * @returns how many that were
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

  /** After the caller is done: calls made together go together. */
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
    const batch = this.#queue.take({ maxBytes: this.#maxBatchBytes, ...(this.#flushAt === 1 && { maxCalls: 1 }) });
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
      this.#courier.fail(batch, { code: 'closed', message: 'the client was closed before it was sent' });
      this.#queue.settle(batch);
    }
  }

  /** A page that is hidden may not come back, and a process with nothing left to do ends. */
  #leave(): void {
    if (this.#queue.held === 0) return;
    if (!this.#platform.browser) {
      void this.close();
      return;
    }
    // Side by side: whoever waits for an answer first may not be there to see it.
    while (this.#queue.waiting > 0) {
      const batch = this.#take();
      if (this.#courier.beacon(batch)) this.#queue.settle(batch);
      else void this.#deliver(batch);
    }
  }

  /** Keeps the process alive until then: neither a promise nor a timer of this client does. */
  async #alive(until: Promise<void>): Promise<void> {
    const hold = setInterval(() => undefined, HOLD_MS);
    await until;
    clearInterval(hold);
  }
}

function courierOptions(options: Options, backoffMs: CourierOptions['backoffMs']): CourierOptions {
  const { writeKey, onDelivered, onFailed } = options;
  return {
    writeKey,
    endpoint: options.endpoint ?? 'http://localhost:8080',
    gzip: options.gzip ?? true,
    retryForMs: options.retryForMs ?? 3_600_000,
    ...(onDelivered && { onDelivered }),
    ...(onFailed && { onFailed }),
    ...(backoffMs && { backoffMs }),
  };
}
