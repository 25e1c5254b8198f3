/**
 * Encodes the records done above the committed offset as commit metadata: lengths of alternating runs (open, done,
 * open, done …) from the committed offset on, as varints in base64url. The next owner skips these records. Without it,
 * one request that hangs for five seconds would make a crash repeat thousands.
 */

const MARK = 'r1.';
/** Brokers accept 4,096 bytes by default (`offset.metadata.max.bytes`). Records that do not fit are only repeated. */
const MAX_BYTES = 2_900;

/** @param runs lengths, the first of an open run; a last open run is left out, because it adds nothing */
export function encodeRuns(runs: readonly number[]): string {
  const bytes: number[] = [];
  for (let i = 0; i + 1 < runs.length; i += 2) {
    const pair = [...varint(runs[i] ?? 0), ...varint(runs[i + 1] ?? 0)];
    if (bytes.length + pair.length > MAX_BYTES) break;
    bytes.push(...pair);
  }
  return bytes.length === 0 ? '' : MARK + Buffer.from(bytes).toString('base64url');
}

/** Decodes the result of `encodeRuns`; any other text gives no runs. */
export function decodeRuns(text: string | null | undefined): number[] {
  if (!text?.startsWith(MARK)) return [];
  const runs: number[] = [];
  let value = 0;
  let shift = 1;
  for (const byte of Buffer.from(text.slice(MARK.length), 'base64url')) {
    value += (byte & 0x7f) * shift;
    shift *= 128;
    if (byte & 0x80) continue;
    runs.push(value);
    [value, shift] = [0, 1];
  }
  return runs;
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
