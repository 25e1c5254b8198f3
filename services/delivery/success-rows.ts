import { attemptsMade } from '../../shared/model/delivery';
import { type OutRecord } from '../../shared/kafka/port';
import { ATTEMPTS } from '../../shared/kafka/topics';
import { isRefused } from '../../shared/runtime/errors';
import { AttemptRows } from '../../shared/model/attempt-rows';
import { FORMAT_HEADER } from '../../shared/model/record-format';
import { type OpenDelivery } from './attempt-context';
import { type Clock } from './clock/clock';
import { type AttemptDisposition, type Disposition } from './decisions/disposition';

/**
 * Gathers successes of first attempts for rows of `attempts`
 * (docs/design/decisions/0042-rows-of-attempts.md).
 */

/**
 * Only offset commits wait for these writes. A killed process repeats the deliveries of rows that
 * were not written, so that the limit of rows ends the gathering early under load.
 */
const GATHER_MS = 100;
const MOST_ROWS = 100;
/** Kafka accepts 1 MB by default, and the estimated length may be half of the real one. */
const MOST_BYTES = 250_000;

export interface Success {
  inHand: OpenDelivery;
  disposition: AttemptDisposition;
  /** time of the event, ms since 1970 */
  atMs: number;
}

/**
 * Returns whether the disposition is a success that has no other event: readers find rows and
 * events in any order.
 */
export function isPlainSuccess(
  { delivery }: OpenDelivery,
  disposition: Disposition,
): disposition is AttemptDisposition {
  if (disposition.kind !== 'delivered') return false;
  const { urls, pending = 0, notCalled } = disposition.attempt;
  const isFirst = attemptsMade(delivery) === 0 && delivery.hop === 0 && delivery.replay === 0;
  // A row has no field for what the receiver asked for.
  const isAsked = urls.some(({ asked }) => asked !== undefined);
  return isFirst && urls.length === 1 && pending === 0 && notCalled === undefined && !isAsked;
}

export interface SuccessRowsListener {
  send(records: OutRecord[]): Promise<void>;
  /** Called once Kafka has acknowledged the row. */
  written(success: Success): void;
  /** Called if Kafka refuses the record with the row for good. */
  refused(success: Success): void;
}

export class SuccessRows {
  #rows = new AttemptRows();
  #gathered: Success[] = [];
  #cancelTimer: (() => void) | undefined;

  constructor(
    private readonly time: Pick<Clock, 'after'>,
    private readonly on: SuccessRowsListener,
  ) {}

  add(success: Success): void {
    const { inHand, disposition, atMs } = success;
    const { urls, durationMs } = disposition.attempt;
    const [url] = urls;
    if (!url) return;
    this.#rows.add({ delivery: inHand.delivery, record: inHand.record, url, durationMs, atMs });
    this.#gathered.push(success);
    const isFull = this.#rows.size >= MOST_ROWS || this.#rows.bytes >= MOST_BYTES;
    // The next owner of a partition waits for its open records.
    if (isFull || inHand.record.isRevoking) this.flush();
    else this.#cancelTimer ??= this.time.after(GATHER_MS, () => this.flush());
  }

  /** Writes the rows without gathering more. */
  flush(): void {
    if (this.#gathered.length === 0) return;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    const rows = this.#rows;
    const successes = this.#gathered;
    this.#rows = new AttemptRows();
    this.#gathered = [];
    const headers = { format: FORMAT_HEADER };
    this.on.send([{ topic: ATTEMPTS, key: null, value: rows.toString(), headers }]).then(
      () => successes.forEach((success) => this.on.written(success)),
      (error: unknown) => {
        if (isRefused(error)) successes.forEach((success) => this.on.refused(success));
      },
    );
  }
}
