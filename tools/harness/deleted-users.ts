/**
 * What holds for the calls of users who are deleted, whatever endpoints and processes do. The
 * simulator and chaos report each request. Pure.
 */

export const DELETION_INVARIANTS = [
  'an older call after the delete of its user',
  'an older call two seconds after the deletion of its user',
] as const;
export type DeletionInvariant = (typeof DELETION_INVARIANTS)[number];

/** From the answer to a deletion until no attempt of an older call begins, ms. */
const PROMISED_MS = 2_000;

export interface UserCall {
  user: string;
  /** when ingest accepted it, ms */
  acceptedAt: number;
  isDelete: boolean;
}

export class DeletedUserCalls {
  /** by user: the time of the last deletion, and that of its answer, ms */
  readonly #deletions = new Map<string, { at: number; answeredAt: number }>();
  /** by URL and user: when the latest `delete` that came there was accepted, ms */
  readonly #toldOf = new Map<string, number>();

  /** @param wireMs a request is reported at most this long after it has begun */
  constructor(private readonly wireMs = 0) {}

  deleted(user: string, at: number, answeredAt = at): void {
    this.#deletions.set(user, { at, answeredAt });
  }

  /** A request begins. @returns what it breaks */
  began(
    { user, acceptedAt, isDelete }: UserCall,
    url: string,
    nowMs: number,
  ): DeletionInvariant | undefined {
    const place = `${url} ${user}`;
    const toldOf = this.#toldOf.get(place) ?? -Infinity;
    if (isDelete) {
      this.#toldOf.set(place, Math.max(acceptedAt, toldOf));
      return undefined;
    }
    if (acceptedAt < toldOf) return 'an older call after the delete of its user';
    const { at, answeredAt } = this.#deletions.get(user) ?? { at: -Infinity, answeredAt: Infinity };
    return acceptedAt < at && nowMs > answeredAt + PROMISED_MS + this.wireMs
      ? 'an older call two seconds after the deletion of its user'
      : undefined;
  }
}
