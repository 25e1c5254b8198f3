/**
 * What the finder of calls notes of an object while it follows a text: enough to say later whether
 * it is a call, an envelope, or neither.
 */

/** Offsets of the first byte, and of the byte after the last. */
export type Range = readonly [start: number, end: number];

/** Where the members of an envelope have their values. The text may break off within one. */
export type EnvelopeParts = Partial<Record<PartName, Range>>;
export type PartName = 'context' | 'integrations' | 'sentAt' | 'writeKey';

/**
 * A value where a call may stand: an element of a `batch` array, or a value at the lowest level.
 */
export class Item {
  /** -1: not closed yet */
  end = -1;
  depth = 0;
  containers = 0;
  keys = 0;
  hasType = false;
  /** It may have ended too early: what follows it does not fit. */
  isDoubtful = false;
  /** elements of its own array `batch`: it is an envelope then */
  batch: Item[] | undefined;
  /** its array has the key `batch`, of which nothing was cut off */
  isBatchKey = false;
  /** it has members that no envelope needs */
  hasOtherKeys = false;
  /** the member that is being read, and where its value begins */
  key = '';
  valueFrom = 0;

  constructor(
    readonly start: number,
    readonly parts: EnvelopeParts = {},
  ) {}
}

/**
 * Whether an item is an envelope. A call may have a field `batch` of its own, but always has a
 * type.
 * @param beginsText an envelope may have a type: it stands where none of its calls can
 */
export function isEnvelope(item: Item, beginsText: boolean): boolean {
  return item.batch !== undefined && (beginsText || !item.hasType);
}

/** An envelope at the lowest level is beyond doubt: its own elements were closed before. */
export function doubt(item: Item | undefined): void {
  if (item && item.end >= 0 && !isEnvelope(item, false)) item.isDoubtful = true;
}

/** Whether an envelope names its time or its key. */
export function hasName({ sentAt, writeKey }: EnvelopeParts): boolean {
  return sentAt !== undefined || writeKey !== undefined;
}
