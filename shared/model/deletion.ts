import { FORMAT_HEADER } from './record-format';

/**
 * A deletion of one user or visitor, as a record of the topic `deletions`: pure. The topic keeps it
 * for longer than any other topic keeps a call of that user.
 */
export interface DeletionRecord {
  /** the id of a user; absent: of a visitor */
  userId?: string;
  /** the id of a visitor: only calls without a `userId` are theirs */
  anonymousId?: string;
  /** ms since 1970: calls that ingest accepted before are deleted */
  at: number;
  /** ids of the sources whose calls are deleted; null: all */
  sources: string[] | null;
}

/** What decides whether a deletion concerns a call. */
export interface CallOfUser {
  userId?: string | undefined;
  anonymousId?: string | undefined;
  sourceId: string;
  /** ms since 1970, by the clock of ingest */
  acceptedAt: number;
}

/** Time for which deletions are known, ms: dead letters stay 30 days and a segment of 7 days. */
export const DELETIONS_KEPT_MS = 38 * 86_400_000;

/** Returns the key, value and headers of its record. */
export function encodeDeletion(deletion: DeletionRecord) {
  return {
    key: deletion.userId ?? deletion.anonymousId ?? '',
    value: JSON.stringify(deletion),
    headers: { format: FORMAT_HEADER },
  };
}

/** @returns undefined if the record is unreadable */
export function decodeDeletion(value: string): DeletionRecord | undefined {
  let read: Partial<DeletionRecord> | null;
  try {
    read = JSON.parse(value) as typeof read;
  } catch {
    return undefined;
  }
  if (!read || !Number.isFinite(read.at)) return undefined;
  const { userId, anonymousId } = read;
  if (typeof (userId === undefined ? anonymousId : userId) !== 'string') return undefined;
  if (read.sources !== null && !Array.isArray(read.sources)) return undefined;
  return read as DeletionRecord;
}

/** The deleted users and visitors, in memory. */
export class DeletedUsers {
  readonly #byUser: ById = new Map();
  readonly #byVisitor: ById = new Map();
  #latestAt = 0;

  /** Time of the latest deletion, ms since 1970; 0: there is none. */
  get latestAt(): number {
    return this.#latestAt;
  }

  /**
   * @param appendedAt when Kafka appended its record to `deletions`, ms since 1970: the others
   *   expire by it, since `at` is what a writer says. Default: it is not read there yet
   */
  add({ userId, anonymousId, at, sources }: DeletionRecord, appendedAt = Infinity): void {
    const byId = userId === undefined ? this.#byVisitor : this.#byUser;
    const id = userId ?? anonymousId ?? '';
    const known = byId.get(id) ?? [];
    const added = { at, sources, appendedAt };
    // It may come from several logs, or be read again.
    const same = known.find((each) => isSame(each, added));
    if (same) {
      same.appendedAt = Math.min(same.appendedAt, appendedAt);
    } else if (!known.some((each) => includes(each, added))) {
      // The latest one is the last of the map, so that the first ones expire.
      byId.delete(id);
      byId.set(id, [...known.filter((each) => !includes(added, each)), added]);
      this.#latestAt = Math.max(this.#latestAt, at);
    }
    if (appendedAt < Infinity) expire(byId, appendedAt - DELETIONS_KEPT_MS);
  }

  /** Returns whether a call was accepted before its user or visitor was deleted. */
  covers({ userId, anonymousId, sourceId, acceptedAt }: CallOfUser): boolean {
    // Most calls are newer than any deletion, and need no look-up.
    if (acceptedAt >= this.#latestAt) return false;
    const found =
      userId === undefined
        ? anonymousId !== undefined && this.#byVisitor.get(anonymousId)
        : this.#byUser.get(userId);
    if (!found) return false;
    return found.some(
      ({ at, sources }) => acceptedAt < at && (sources === null || sources.includes(sourceId)),
    );
  }

  /** Returns the sources whose calls of that time were deleted for a user. */
  deletedSources(userId: string, acceptedAt: number): 'all' | string[] {
    const found = acceptedAt < this.#latestAt ? this.#byUser.get(userId) : undefined;
    if (!found) return NO_SOURCES;
    const later = found.filter(({ at }) => acceptedAt < at);
    if (later.some(({ sources }) => sources === null)) return 'all';
    return later.flatMap(({ sources }) => sources ?? []);
  }

  /** Returns the deletions of users that Kafka appended to `deletions` since a time. */
  usersSince(sinceMs: number): UserDeletion[] {
    return Array.from(this.#byUser, ([userId, found]) =>
      found
        .filter(({ appendedAt }) => appendedAt >= sinceMs)
        .map(({ at, sources }) => ({ userId, at, sources })),
    ).flat();
  }
}

/** A deletion of a user. */
export type UserDeletion = Pick<DeletionRecord, 'at' | 'sources'> & { userId: string };

const NO_SOURCES: string[] = [];

interface KnownDeletion extends Pick<DeletionRecord, 'at' | 'sources'> {
  appendedAt: number;
}

type ById = Map<string, KnownDeletion[]>;

function isSame(one: KnownDeletion, other: KnownDeletion): boolean {
  return one.at === other.at && String(one.sources) === String(other.sources);
}

/** Returns whether one deletion concerns every call that another one concerns. */
function includes(one: KnownDeletion, other: KnownDeletion): boolean {
  const { sources } = one;
  if (other.at > one.at) return false;
  return sources === null || (other.sources?.every((each) => sources.includes(each)) ?? false);
}

function expire(byId: ById, beforeMs: number): void {
  for (const [id, deletions] of byId) {
    // One that was not read yet holds up no other.
    if (deletions.some(({ appendedAt }) => appendedAt === Infinity)) continue;
    if (deletions.some(({ appendedAt }) => appendedAt >= beforeMs)) return;
    byId.delete(id);
  }
}
