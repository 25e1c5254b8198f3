/** Totals of the queues of all lanes. */
export interface Queued {
  /** jobs */
  count: number;
  bytes: number;
}

interface Body {
  readonly bytes: number;
  readonly due: boolean;
}

/** The memory that waiting bodies of one lane take: queued jobs, and members of batches. */
export class QueuedBytes {
  #bytes = 0;

  /** @param maxBytes for all lanes together */
  constructor(
    private readonly all: Queued,
    private readonly maxBytes: number,
  ) {}

  /**
   * Each lane may take as much memory as is left free, so that a few large lanes always leave room
   * for the next. Retries may take half of it.
   */
  hasRoom({ bytes, due }: Body): boolean {
    // The members of a batch are counted before the batch is queued.
    if (bytes === 0) return true;
    const free = Math.max(0, this.maxBytes - this.all.bytes);
    return this.#bytes + bytes <= (due ? free / 2 : free);
  }

  /** Counts a body if there is room. @returns whether there is */
  take(body: Body): boolean {
    const hasRoom = this.hasRoom(body);
    if (hasRoom) this.add(body.bytes);
    return hasRoom;
  }

  /** Counts bytes and jobs; fewer if negative. */
  add(bytes: number, jobs = 0): void {
    this.#bytes += bytes;
    this.all.bytes += bytes;
    this.all.count += jobs;
  }
}
