/** CRC-32C (Castagnoli, RFC 3720 appendix B.4), eight bytes at a time ("slicing by 8", Kounavis and Berry 2005). */

const POLYNOMIAL = 0x82f63b78;
const SLICES = 8;

const [T0, T1, T2, T3, T4, T5, T6, T7] = tables() as [Table, Table, Table, Table, Table, Table, Table, Table];
type Table = Int32Array;

function tables(): Table[] {
  const first = new Int32Array(256);
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ POLYNOMIAL : crc >>> 1;
    first[byte] = crc;
  }
  const all = [first];
  for (let slice = 1; slice < SLICES; slice++) {
    all.push(all[slice - 1]!.map((crc) => (crc >>> 8) ^ first[crc & 0xff]!));
  }
  return all;
}

/** @returns the checksum of `bytes` from `start` on, unsigned */
export function crc32c(bytes: Uint8Array, start = 0, end = bytes.length): number {
  const b = bytes;
  let crc = -1;
  let at = start;
  for (; at + SLICES <= end; at += SLICES) {
    const low = crc ^ (b[at]! | (b[at + 1]! << 8) | (b[at + 2]! << 16) | (b[at + 3]! << 24));
    crc =
      T7[low & 0xff]! ^
      T6[(low >>> 8) & 0xff]! ^
      T5[(low >>> 16) & 0xff]! ^
      T4[low >>> 24]! ^
      T3[b[at + 4]!]! ^
      T2[b[at + 5]!]! ^
      T1[b[at + 6]!]! ^
      T0[b[at + 7]!]!;
  }
  for (; at < end; at++) crc = (crc >>> 8) ^ T0[(crc ^ b[at]!) & 0xff]!;
  return (crc ^ -1) >>> 0;
}
