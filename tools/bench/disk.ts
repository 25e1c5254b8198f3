import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** Room on the disk. */

const BLOCK_BYTES = 512;

/**
 * What is allocated below a folder, in bytes: files may be longer than what is written of them. What goes away meanwhile
 * counts nothing.
 * @param wanted of the names of its own entries (default: all)
 */
export function diskBytes(dir: string, wanted: (name: string) => boolean = () => true): number {
  let bytes = 0;
  for (const entry of readdirSync(dir, { withFileTypes: true })) {
    if (!wanted(entry.name)) continue;
    const path = join(dir, entry.name);
    bytes += entry.isDirectory()
      ? diskBytes(path)
      : (lstatSync(path, { throwIfNoEntry: false })?.blocks ?? 0) * BLOCK_BYTES;
  }
  return bytes;
}
