import { type ByteReader, type ByteWriter } from './bytes';

/** The requests that look for an offset in a log (https://kafka.apache.org/protocol). */

export const LIST_OFFSETS = { key: 2, version: 5 };
export const EPOCH_END = { key: 23, version: 3 };

/** Instead of a time: the first offset of the log, and the end of it. */
export const EARLIEST = -2;
export const LATEST = -1;

const CONSUMER = -1;
const READ_UNCOMMITTED = 0;

/** A partition to look into, and the epoch of its leader. */
export interface LogPlace {
  /** full name */
  topic: string;
  number: number;
  leaderEpoch: number;
}

export interface FoundOffset {
  topic: string;
  number: number;
  errorCode: number;
  /** negative if there is none */
  offset: number;
}

/** Asks for the first record appended at a time or later. @param atMs ms since 1970, or as above */
export function writeListOffsets(to: ByteWriter, places: readonly LogPlace[], atMs: number): void {
  to.int32(CONSUMER);
  to.int8(READ_UNCOMMITTED);
  writePlaces(to, places, atMs, (value) => to.int64(value));
}

export function readListOffsets(from: ByteReader): FoundOffset[] {
  from.int32(); // throttle time
  return readPlaces(from, (topic) => {
    const number = from.int32();
    const errorCode = from.int16();
    from.int64(); // time of the record
    const offset = from.int64();
    from.int32(); // its epoch
    return { topic, number, errorCode, offset };
  });
}

/** Asks where the records of a leader epoch end. */
export function writeEpochEnd(to: ByteWriter, places: readonly LogPlace[], epoch: number): void {
  to.int32(CONSUMER);
  writePlaces(to, places, epoch, (value) => to.int32(value));
}

/** @returns the end of the epoch, or of the last one before it; negative if it is not known */
export function readEpochEnd(from: ByteReader): FoundOffset[] {
  from.int32();
  return readPlaces(from, (topic) => {
    const errorCode = from.int16();
    const number = from.int32();
    from.int32(); // epoch
    return { topic, number, errorCode, offset: from.int64() };
  });
}

/** Each place has a topic of its own in the request, which brokers allow. */
function writePlaces(
  to: ByteWriter,
  places: readonly LogPlace[],
  value: number,
  write: (value: number) => void,
): void {
  to.array(places, ({ topic, number, leaderEpoch }) => {
    to.string(topic);
    to.int32(1);
    to.int32(number);
    to.int32(leaderEpoch);
    write(value);
  });
}

function readPlaces(from: ByteReader, read: (topic: string) => FoundOffset): FoundOffset[] {
  const topics = from.array(() => {
    const topic = from.string();
    return from.array(() => read(topic));
  });
  return topics.flat();
}
