import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AppError } from '../../shared/runtime/errors';

/**
 * The files in the folder of the embedded broker. Its records are there too, or in a volume of a
 * container engine.
 */

export const recordsOf = (dir: string) => join(dir, 'records');
export const propertiesFile = (dir: string) => join(dir, 'server.properties');
export const volumeFile = (dir: string) => join(dir, 'volume');

/** As `volumeOf` makes it. Any other name could be a volume, or a folder, of something else. */
const VOLUME = /^waypost-[0-9a-f]{12}$/;

/**
 * Returns the name of the folder's volume, which is chosen once.
 * @throws AppError `cannot_start` if the folder holds records, or its file has another name
 */
export function volumeOf(dir: string): string {
  if (existsSync(recordsOf(dir))) {
    throw new AppError(
      'cannot_start',
      `The records in ${dir} were written by a Kafka without a container, and one in a ` +
        'container cannot read them there: ' +
        'set WAYPOST_KAFKA=java, or WAYPOST_DATA_DIR to another folder.',
    );
  }
  const file = volumeFile(dir);
  if (!existsSync(file)) {
    writeFileSync(file, `waypost-${randomBytes(6).toString('hex')}\n`);
  }
  return readVolume(file);
}

function readVolume(file: string): string {
  const name = readFileSync(file, 'utf8').trim();
  if (VOLUME.test(name)) return name;
  throw new AppError(
    'cannot_start',
    `${file} does not name a volume of Waypost, which is waypost- with 12 hexadecimal digits. ` +
      'Restore the file from a copy, or set WAYPOST_DATA_DIR to another folder.',
  );
}

/**
 * @throws AppError `cannot_start` if the records of a folder are in a volume of a container engine
 */
export function requireNoVolume(dir: string): void {
  if (!existsSync(volumeFile(dir)) || existsSync(recordsOf(dir))) return;
  throw new AppError(
    'cannot_start',
    `The records of ${dir} are in the volume ` +
      `${readVolume(volumeFile(dir))} of a container engine: ` +
      'set WAYPOST_KAFKA=container, or WAYPOST_DATA_DIR to another folder.',
  );
}
