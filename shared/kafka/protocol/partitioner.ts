/**
 * Computes the partition of a key with murmur2, like Kafka's Java client, so that every producer finds the same
 * partition. The function of kafkajs uses BigInt, at twenty times the cost.
 */

const SEED = 0x9747b28c;
const M = 0x5bd1e995;

/** @returns a 32-bit integer */
export function murmur2(key: Buffer): number {
  const { length } = key;
  let hash = SEED ^ length;
  let at = 0;
  for (; at + 4 <= length; at += 4) {
    let k = key[at]! | (key[at + 1]! << 8) | (key[at + 2]! << 16) | (key[at + 3]! << 24);
    k = Math.imul(k, M);
    k = Math.imul(k ^ (k >>> 24), M);
    hash = Math.imul(hash, M) ^ k;
  }
  const left = length - at;
  if (left === 3) hash ^= key[at + 2]! << 16;
  if (left >= 2) hash ^= key[at + 1]! << 8;
  if (left >= 1) hash = Math.imul(hash ^ key[at]!, M);
  hash = Math.imul(hash ^ (hash >>> 13), M);
  return hash ^ (hash >>> 15);
}

/** Returns the partition of a key among `partitions`. */
export function partitionOf(key: string | Buffer, partitions: number): number {
  return (murmur2(typeof key === 'string' ? Buffer.from(key) : key) & 0x7fffffff) % partitions;
}
