/**
 * What a member knows of one of its partitions. Whether the session of the member is in doubt, with
 * all its partitions, is the session's to say (`Session` of partition.ts).
 *
 * - `reading`: this member owns it, and starts its records
 * - `stopped`: this member owns it and starts no records: it moves to another member, the session
 *   is in doubt, or this process stops
 * - `lost`: the session in which this member owned it has ended, so that another one may own it
 */
export type Ownership = 'reading' | 'stopped' | 'lost';

export type OwnershipChange = 'stop' | 'goOn' | 'lose' | 'takeBack';

const NEXT: Readonly<Record<Ownership, Partial<Record<OwnershipChange, Ownership>>>> = {
  reading: {
    stop: 'stopped',
    lose: 'lost',
  },
  stopped: {
    goOn: 'reading',
    lose: 'lost',
  },
  // It is read again only after it was taken back.
  lost: {
    takeBack: 'stopped',
  },
};

/** Returns the ownership after a change. A change that has no meaning changes nothing. */
export function ownershipAfter(from: Ownership, change: OwnershipChange): Ownership {
  return NEXT[from][change] ?? from;
}
