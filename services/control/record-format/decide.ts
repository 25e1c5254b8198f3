import { type GroupFormats } from '../../../shared/kafka/port';
import { FIRST_FORMAT, READS_FORMAT } from '../../../shared/model/record-format';
import { type RecordFormat, RECORD_FORMAT_ID } from '../../../shared/model/config';

/**
 * Decides when all processes may write a newer record format, from the members of the consumer
 * groups. Pure.
 */

/**
 * Every member must read the new format for this long. A process of an older version that is only
 * briefly away returns within it: Kubernetes waits at most 5 minutes before it starts a crashed
 * container again.
 */
export const HOLD_MS = 600_000;
/**
 * Less than the session of a member (6 s): a process that crashes right after its start is seen.
 */
export const LOOK_EVERY_MS = 5_000;
/** Looks that are further apart do not prove what happened between them. */
const MAX_GAP_MS = 60_000;

/**
 * Groups that must have a member. The group of the history has the id of its database behind this
 * name.
 */
const REQUIRED = ['router', 'delivery', 'retry', 'control-history'];
/** The group of audiences, which has members only while an audience or a trait is defined. */
const AUDIENCES = 'audiences';

type Member = GroupFormats['members'][number] & { group: string };

/** What the members of all groups report. */
export interface Census {
  members: Member[];
  /** required groups without a member */
  missing: string[];
  /** groups that assign partitions, whose members are not known at present */
  settling: string[];
  /** the newest format that all members read */
  readable: number;
}

/** @param withAudiences an audience or a computed trait is defined */
export function takeCensus(groups: readonly GroupFormats[], withAudiences: boolean): Census {
  const members = groups.flatMap(({ group, members }) =>
    members.map((member) => ({ ...member, group })),
  );
  const required = withAudiences ? [...REQUIRED, AUDIENCES] : REQUIRED;
  const isOf = (name: string, group: string) => group === name || group.startsWith(`${name}-`);
  const present = groups.filter(({ settled, members }) => !settled || members.length > 0);
  return {
    members,
    missing: required.filter((name) => !present.some(({ group }) => isOf(name, group))),
    settling: groups.filter(({ settled }) => !settled).map(({ group }) => group),
    readable: Math.min(READS_FORMAT, ...members.map(({ reads }) => reads)),
  };
}

/** How long all members have read a format. Times are ms of a steady clock. */
export interface Watch {
  readable: number;
  sinceMs: number;
  /** the last look */
  seenMs: number;
}

/**
 * @returns the watch after a look; undefined: a required group has no member, and the time begins
 *   again
 */
export function watchOn(
  before: Watch | undefined,
  census: Census,
  nowMs: number,
): Watch | undefined {
  if (census.missing.length > 0) return undefined;
  const known = before && nowMs - before.seenMs <= MAX_GAP_MS ? before : undefined;
  if (census.settling.length > 0) return known;
  const { readable } = census;
  return { readable, sinceMs: known?.readable === readable ? known.sinceMs : nowMs, seenMs: nowMs };
}

type Entry = Pick<RecordFormat, 'format' | 'automatic'>;

/** The state of a system that an earlier version created. */
export const BY_DEFAULT: Entry = { format: FIRST_FORMAT, automatic: true };

/** Returns whether a newer format is still to be switched on. */
export function isPending({ format, automatic }: Entry): boolean {
  return automatic && format < READS_FORMAT;
}

/** @returns the format to switch on now; undefined: leave it as it is */
export function formatToSwitchOn(
  entry: Entry,
  watch: Watch | undefined,
  nowMs: number,
): number | undefined {
  if (!watch || !isPending(entry) || watch.readable <= entry.format) return undefined;
  return watch.seenMs === nowMs && nowMs - watch.sinceMs >= HOLD_MS ? watch.readable : undefined;
}

/**
 * Returns the entry of a new system, in which no older process can be: it writes the newest format
 * from the beginning.
 */
export function newRecordFormat(at: string): RecordFormat {
  const format = READS_FORMAT;
  return {
    id: RECORD_FORMAT_ID,
    name: 'Record format',
    format,
    automatic: true,
    createdAt: at,
    updatedAt: at,
  };
}
