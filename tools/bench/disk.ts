import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** Measures disk usage. */

const BLOCK_BYTES = 512;

/**
 * Returns the bytes allocated below a folder: a file may be longer than its written part. Files that disappear during
 * the walk count as 0.
 * @param wanted selects its entries by name (default: all)
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
