import { chmodSync, lstatSync, type Stats, statSync } from 'node:fs';
import { join } from 'node:path';
import { AppError } from '../shared/runtime/errors';
import { propertiesFile } from './kafka/broker-folder';

/**
 * Keeps other users of the machine out of a data dir that `npm start` finds: who can write there
 * chooses the admin token, the secret key and the password of Kafka.
 */

/**
 * Refuses an existing data dir that another user can have written, and closes its secrets to
 * others, as after a copy that lost the permissions.
 * @throws AppError `cannot_start`
 */
export function secureDataDir(dir: string): void {
  const stat = statSync(dir, { throwIfNoEntry: false });
  if (!stat) return;
  const problem = dataDirProblem(dir, stat, process.geteuid?.());
  if (problem !== undefined) throw new AppError('cannot_start', problem);
  const kafka = join(dir, 'kafka');
  const secrets = [
    join(dir, 'admin-token'),
    join(dir, 'secret-key'),
    join(kafka, 'password'),
    propertiesFile(kafka),
  ];
  for (const file of secrets) {
    const found = lstatSync(file, { throwIfNoEntry: false });
    if (found?.isFile() && (found.mode & 0o077) !== 0) chmodSync(file, 0o600);
  }
}

/**
 * Returns why a data dir is not safe to use, and what to do; undefined if it is.
 * @param user the effective user of this process; undefined where the system has no such ids
 */
export function dataDirProblem(
  dir: string,
  { uid, mode }: Pick<Stats, 'uid' | 'mode'>,
  user: number | undefined,
): string | undefined {
  if (user === undefined) return undefined;
  if (uid !== user) {
    return (
      `The data dir ${dir} belongs to another user (uid ${String(uid)}), who could read and change ` +
      'all of Waypost. Start Waypost as that user, or set WAYPOST_DATA_DIR to a folder of your own.'
    );
  }
  if ((mode & 0o022) === 0) return undefined;
  return (
    `Other users can write the data dir ${dir}, and so could choose the secrets of Waypost. If you ` +
    `trust what is in it, run \`chmod go-w ${dir}\`; otherwise set WAYPOST_DATA_DIR to another folder.`
  );
}
