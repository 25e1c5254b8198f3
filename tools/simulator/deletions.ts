import { type Deletions } from '../../shared/deletions/reader';
import { type CallOfUser, DeletedUsers, type DeletionRecord } from '../../shared/model/deletion';
import { type Book } from './delivery-audit';
import { EPOCH_MS, type ProcessTime } from './process-time';
import { type Request } from './sender';

/** Deletions of users: how a process learns of them, and what it promises afterwards. */

/** An idle reader of a topic proves every five seconds that it has read everything. */
const PROOF_EVERY_MS = 5_000;
/** If somebody waits for a proof, it comes after this time. */
const SOON_MS = 50;
/** From the answer to a deletion until no attempt of an older call begins, ms. */
const PROMISED_MS = 2_000;

/** What one process knows of the deletions. */
export class ReadDeletions implements Deletions {
  readonly completeAt = Infinity;
  changes = 0;
  readonly #users = new DeletedUsers();
  readonly #listeners: (() => void)[] = [];
  #provedAt = 0;
  #isAsked = false;

  /** @param isAway returns whether Kafka does not answer at this time */
  constructor(
    private readonly time: ProcessTime,
    private readonly log: readonly DeletionRecord[],
    private readonly isAway: (nowMs: number) => boolean,
  ) {
    time.every(PROOF_EVERY_MS, () => this.#prove());
  }

  #prove(): void {
    const nowMs = this.time.steadyMs();
    if (this.isAway(nowMs)) return;
    for (const deletion of this.log.slice(this.changes)) this.#users.add(deletion);
    this.changes = this.log.length;
    this.#provedAt = nowMs;
    for (const listener of this.#listeners) listener();
  }

  covers(call: CallOfUser): boolean {
    return this.#users.covers(call);
  }

  get ageMs(): number {
    return this.time.steadyMs() - this.#provedAt;
  }

  expectSoon(): void {
    if (this.#isAsked) return;
    this.#isAsked = true;
    this.time.after(SOON_MS, () => {
      this.#isAsked = false;
      this.#prove();
    });
  }

  onComplete(listener: () => void): void {
    this.#listeners.push(listener);
  }
}

interface Call {
  user: string;
  bornAt: number;
  isDelete: boolean;
}

/** Checks the requests of all processes for calls that were accepted before their user's deletion. */
export class UserAudit {
  readonly #calls = new Map<string, Call>();
  /** by user, the last deletion */
  readonly #deletedAt = new Map<string, number>();
  /** by URL and user: when the latest `delete` that was sent there was accepted */
  readonly #toldOf = new Map<string, number>();
  /** by process, URL and user: the open requests */
  readonly #open = new Map<string, Map<string, Call>>();

  constructor(private readonly book: Book) {}

  born(id: string, call: Call): void {
    this.#calls.set(id, call);
  }

  deleted({ userId = '', at }: DeletionRecord): void {
    this.#deletedAt.set(userId, at - EPOCH_MS);
  }

  /** @param process only with its own requests it compares a `delete` */
  began({ deliveryId, origin }: Request, process: string, nowMs: number): void {
    const call = this.#calls.get(deliveryId);
    if (!call) return;
    const { user, bornAt, isDelete } = call;
    const place = `${origin} ${user}`;
    const open = this.#open.get(`${process} ${place}`) ?? new Map<string, Call>();
    this.#open.set(`${process} ${place}`, open);
    if (isDelete) {
      const older = [...open.values()].filter((each) => !each.isDelete && each.bornAt < bornAt);
      if (older.length > 0) this.book.violate('a delete beside an older call of its user');
      this.#toldOf.set(place, Math.max(bornAt, this.#toldOf.get(place) ?? 0));
    } else {
      if (bornAt < (this.#toldOf.get(place) ?? 0)) {
        this.book.violate('an older call after the delete of its user');
      }
      const deletedAt = this.#deletedAt.get(user) ?? 0;
      if (bornAt < deletedAt && nowMs > deletedAt + PROMISED_MS) {
        this.book.violate('an older call two seconds after the deletion of its user');
      }
    }
    open.set(deliveryId, call);
  }

  ended({ deliveryId, origin }: Request, process: string): void {
    const call = this.#calls.get(deliveryId);
    if (call) this.#open.get(`${process} ${origin} ${call.user}`)?.delete(deliveryId);
  }
}
