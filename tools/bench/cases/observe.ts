import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** Observes a service from outside: its metrics and its files. */

/** Returns the sum of a metric of a service; 0 if it does not respond yet. */
export async function metricOf(port: number, name: string): Promise<number> {
  const text = await fetch(`http://127.0.0.1:${String(port)}/metrics`).then(
    (answer) => answer.text(),
    () => '',
  );
  const values = [...text.matchAll(new RegExp(`^${name}(?:{.*})? (\\S+)$`, 'gm'))];
  return values.reduce((sum, [, value]) => sum + Number(value), 0);
}

const BLOCK_BYTES = 512;

/**
 * Returns the bytes allocated below a folder: a file may be longer than its written part. Files
 * that disappear during the walk count as 0.
 */
export function diskBytes(dir: string): number {
  let bytes = 0;
  for (const entry of readdirSync(dir, { withFileTypes: true })) {
    const path = join(dir, entry.name);
    bytes += entry.isDirectory()
      ? diskBytes(path)
      : (lstatSync(path, { throwIfNoEntry: false })?.blocks ?? 0) * BLOCK_BYTES;
  }
  return bytes;
}
