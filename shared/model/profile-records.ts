/** What is written of profiles by one service and read by another. */

/** Longest id of a user that has a profile: it is part of keys in the store, which end at 1,978 bytes. */
export const MAX_USER_BYTES = 512;

/** Header `format` of the records of `profiles.events`. */
export const PROFILE_EVENT_FORMAT = '1';

/** A line of an upload of members, in `profiles.events`: it counts when the upload is complete. */
export interface ListedEvent {
  kind: 'listed';
  audience: string;
  upload: number;
  listed: boolean;
}

/**
 * How far a definition is in one partition.
 *
 * waiting: for the log to be read again · filling: it is being · held: counts, and waits for the messages there were when
 * it was made, or for a scan · scanning: its first sync runs · live · leaving: deleted, and to be forgotten
 */
export type Phase = 'waiting' | 'filling' | 'held' | 'scanning' | 'live' | 'leaving';

/** A record of `profiles.status`: one definition in one partition. */
export interface StatusValue {
  definition: string;
  partition: number;
  /** ISO 8601 */
  at: string;
  revision: number;
  phase: Phase;
  profiles: number;
  /** of them, users whose profiles are full; absent: written by an older version */
  full?: number;
  /** profiles that the first sync has looked at */
  counted: number;
  members: number;
  told: number;
  /** told, and not yet acknowledged */
  waiting: number;
  /** the last upload of members that was taken over */
  upload: number;
  lastSync: { at: string; looked: number; told: number } | null;
}
