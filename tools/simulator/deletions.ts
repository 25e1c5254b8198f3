import { type Deletions } from '../../shared/deletions/reader';
import { type CallOfUser, DeletedUsers, type DeletionRecord } from '../../shared/model/deletion';
import { DeletedUserCalls, type UserCall } from '../harness/deleted-users';
import { type Book } from './delivery-audit';
import { EPOCH_MS, type ProcessTime } from './process-time';
import { type Request } from './sender';

/** Deletions of users: how a process learns of them, and what it promises afterwards. */

/** An idle reader of a topic proves every five seconds that it has read everything. */
const PROOF_EVERY_MS = 5_000;
/** If somebody waits for a proof, it comes after this time. */
const SOON_MS = 50;

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

/**
 * Checks the requests of all processes for calls that were accepted before their user's deletion.
 */
export class UserAudit {
  /** by id of the delivery */
  readonly #calls = new Map<string, UserCall>();
  readonly #deleted = new DeletedUserCalls();
  /** by process, URL and user: the open requests */
  readonly #open = new Map<string, Map<string, UserCall>>();

  constructor(private readonly book: Book) {}

  born(id: string, call: UserCall): void {
    this.#calls.set(id, call);
  }

  deleted({ userId = '', at }: DeletionRecord): void {
    this.#deleted.deleted(userId, at - EPOCH_MS);
  }

  /** @param process only with its own requests it compares a `delete` */
  began({ deliveryId, origin }: Request, process: string, nowMs: number): void {
    const call = this.#calls.get(deliveryId);
    if (!call) return;
    const { user, acceptedAt, isDelete } = call;
    const place = `${process} ${origin} ${user}`;
    const open = this.#open.get(place) ?? new Map<string, UserCall>();
    this.#open.set(place, open);
    const isOlder = (each: UserCall) => !each.isDelete && each.acceptedAt < acceptedAt;
    if (isDelete && [...open.values()].some(isOlder)) {
      this.book.violate('a delete beside an older call of its user');
    }
    const broken = this.#deleted.began(call, origin, nowMs);
    if (broken) this.book.violate(broken);
    open.set(deliveryId, call);
  }

  ended({ deliveryId, origin }: Request, process: string): void {
    const call = this.#calls.get(deliveryId);
    if (call) this.#open.get(`${process} ${origin} ${call.user}`)?.delete(deliveryId);
  }
}
