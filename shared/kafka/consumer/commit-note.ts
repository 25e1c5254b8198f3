import { type RecordName } from '../record-name';

/** What commit metadata tells the next owner. */
export interface CommitNote {
  /** a random number of the owner; 0: not known */
  owner: number;
  /** the newest record that was read, which the next owner compares with the log */
  last: RecordName | undefined;
  /**
   * the records done above the committed offset, which the next owner skips, as lengths of
   * alternating open and done runs from the offset on. Without them, one request that hangs for
   * five seconds would make a crash repeat thousands.
   */
  runs: number[];
}

/** Other metadata, of another build or tool, is ignored: the offset alone counts then. */
const MARK = 'p1.';
/**
 * Most bytes of a note before base64url. Brokers accept 4,096 characters by default
 * (`offset.metadata.max.bytes`).
 */
export const MOST_NOTE_BYTES = 2_900;
/** numbers before the runs */
const HEAD = 4;

/**
 * Encodes a note as varints in base64url: the owner, how far the last record lies behind the
 * offset, its epoch, its time, then the runs. A last open run is left out, because it adds nothing.
 * @param mostBytes records that do not fit are only repeated
 */
export function encodeNote(
  offset: number,
  { owner, last, runs }: CommitNote,
  mostBytes: number,
): string {
  const isNamed = last !== undefined && last.offset >= offset - 1;
  const name = isNamed
    ? [last.offset - offset + 2, last.epoch + 1, Math.max(0, last.timestamp)]
    : [0, 0, 0];
  const bytes = [owner, ...name].flatMap(varint);
  if (bytes.length > mostBytes) return '';
  for (let i = 0; i + 1 < runs.length; i += 2) {
    const pair = [...varint(runs[i] ?? 0), ...varint(runs[i + 1] ?? 0)];
    if (bytes.length + pair.length > mostBytes) break;
    bytes.push(...pair);
  }
  return MARK + Buffer.from(bytes).toString('base64url');
}

/** Decodes the result of `encodeNote`; any other text gives an empty note. */
export function decodeNote(offset: number, text: string): CommitNote {
  if (!text.startsWith(MARK)) return { owner: 0, last: undefined, runs: [] };
  const numbers: number[] = [];
  let value = 0;
  let shift = 1;
  for (const byte of Buffer.from(text.slice(MARK.length), 'base64url')) {
    value += (byte & 0x7f) * shift;
    shift *= 128;
    if (byte & 0x80) continue;
    numbers.push(value);
    [value, shift] = [0, 1];
  }
  const [owner = 0, behind = 0, epoch = 0, timestamp = 0] = numbers;
  const last =
    behind > 0 ? { offset: offset + behind - 2, epoch: epoch - 1, timestamp } : undefined;
  return { owner, last, runs: numbers.slice(HEAD) };
}

function varint(value: number): number[] {
  const bytes: number[] = [];
  let left = value;
  while (left >= 128) {
    bytes.push((left % 128) | 0x80);
    left = Math.floor(left / 128);
  }
  bytes.push(left);
  return bytes;
}
