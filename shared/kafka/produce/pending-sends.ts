/** Settled sends behind an open one are removed beyond this number. */
const MOST_SETTLED = 1_000;

/** One `send` in progress, with its promise. */
export interface PendingSend {
  /** number of unacknowledged records */
  left: number;
  settled: boolean;
  /** by `performance.now()`, because the clock of the machine may be set */
  at: number;
  resolve(): void;
  reject(error: Error): void;
}

/** Tracks the sends that are in progress, in the order of the calls. */
export class PendingSends {
  #sends: PendingSend[] = [];
  #settled = 0;
  #drained: () => void = () => undefined;

  get open(): number {
    return this.#sends.length - this.#settled;
  }

  /** The time of the oldest open send; undefined without one. */
  get oldestAt(): number | undefined {
    this.clear();
    return this.#sends[0]?.at;
  }

  add(send: PendingSend): void {
    this.#sends.push(send);
  }

  /** Resolves when no send is open; call it while one is. */
  drained(): Promise<void> {
    return new Promise<void>((resolve) => (this.#drained = resolve));
  }

  /** Resolves the sends whose last records these are. */
  acknowledge(items: readonly { ticket: PendingSend }[]): void {
    for (const { ticket } of items) {
      if (--ticket.left === 0 && !ticket.settled) {
        ticket.resolve();
        this.#settle(ticket);
      }
    }
    this.clear();
  }

  reject(send: PendingSend, error: Error): void {
    send.reject(error);
    this.#settle(send);
  }

  /** Rejects the sends from before `oldest`. @returns whether there were any */
  rejectOld(oldest: number, error: () => Error): boolean {
    let found = false;
    for (const send of this.#sends) {
      if (send.at > oldest) break;
      if (send.settled) continue;
      this.reject(send, error());
      found = true;
    }
    return found;
  }

  /** Forgets settled sends. */
  clear(): void {
    if (this.#settled === 0) return;
    if (this.#settled === this.#sends.length) {
      this.#sends = [];
      this.#settled = 0;
      return;
    }
    let first = 0;
    while (this.#sends[first]?.settled) first++;
    if (first > 0) this.#sends.splice(0, first);
    this.#settled -= first;
    // Settled sends must not pile up behind a send that stays open.
    if (this.#settled > MOST_SETTLED + this.open) {
      this.#sends = this.#sends.filter(({ settled }) => !settled);
      this.#settled = 0;
    }
  }

  #settle(send: PendingSend): void {
    send.settled = true;
    this.#settled++;
    if (this.open === 0) this.#drained();
  }
}
