import { join } from 'node:path';
import { type Settings } from '../../../shared/service/settings';
import { type Database } from './database';
import { openPglite } from './pglite';
import { openPostgres } from './postgres';
import { type Retention } from './retention';

/** Opens the database that the settings name, and returns its limits. */

const MB = 1024 * 1024;
/** A laptop's disk, compared to a server that somebody chose for this. */
const EMBEDDED_MB = 2_048;
const SERVER_MB = 102_400;

export function openDatabase(settings: Settings): Promise<Database> {
  const { WAYPOST_DATABASE_URL: url, WAYPOST_DATA_DIR: dataDir } = settings;
  return url === undefined ? openPglite(join(dataDir, 'history')) : openPostgres(url);
}

export function retentionOf(settings: Settings): Retention {
  const defaultMb = settings.WAYPOST_DATABASE_URL === undefined ? EMBEDDED_MB : SERVER_MB;
  return {
    forMs: settings.WAYPOST_HISTORY_RETENTION,
    maxBytes: (settings.WAYPOST_HISTORY_MAX_MB ?? defaultMb) * MB,
  };
}
