import { gzip, gzipSync } from 'node:zlib';

/**
 * A body up to this size takes less than 0.3 ms, which is less than handing it to another thread
 * and back.
 */
const SYNC_BYTES = 16 * 1024;

/**
 * Compresses a body with gzip. A large one is compressed in another thread, so that no other
 * destination waits.
 * @param done called once, before the return for a small body; undefined: it cannot be compressed,
 *   and is sent as it is
 */
export function compress(body: Buffer, done: (compressed: Buffer | undefined) => void): void {
  if (body.length <= SYNC_BYTES) done(gzipSync(body));
  else gzip(body, (error, compressed) => done(error ? undefined : compressed));
}
