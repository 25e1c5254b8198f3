import { type ConfigReader } from '../../shared/config/view';
import { type Source } from '../../shared/domain/config';
import { messageOf } from '../../shared/errors';
import { type Log } from '../../shared/telemetry/log';
import { type RefusalCode } from './answer';
import { oncePer } from '../../shared/quiet';

/**
 * Write key → source. A key is refused only after `config` was read to its end: clients throw away what a 401 refuses,
 * and a source made or switched on a moment ago may not have reached this process yet.
 */

/** Clients give up after 10 s, and the calls are still to be stored in the 5 s that we have. */
const REFRESH_DEADLINE_MS = 2_000;
/** Go's clients repeat a refused batch ten times. */
const LOG_INTERVAL_MS = 60_000;
const LOG_MAX_KEYS = 1_000;

type AuthFault = Extract<
  RefusalCode,
  'missing_write_key' | 'unknown_write_key' | 'source_disabled' | 'config_unavailable'
>;

export interface Sources {
  /** The source of a key that is known now and switched on; undefined proves nothing. */
  known(key: string): Source | undefined;
  /** Waits for the end of `config` before it refuses. */
  find(key: string | undefined): Promise<Source | AuthFault>;
}

/** The user name of Basic authentication: it is the write key, and wins over one in the body. Read also of a value that was encoded without its colon; undefined where there is none. */
export function basicUser(authorization: string | undefined): string | undefined {
  if (authorization?.slice(0, 6).toLowerCase() !== 'basic ') return undefined;
  const text = Buffer.from(authorization.slice(6), 'base64').toString('utf8');
  const colon = text.indexOf(':');
  const user = colon < 0 ? text : text.slice(0, colon);
  return user === '' ? undefined : user;
}

export function createSources(options: { config: ConfigReader; log: Log; now: () => number }): Sources {
  const { config, log, now } = options;
  const mayLog = oncePer(LOG_INTERVAL_MS, LOG_MAX_KEYS, now);

  const known = (key: string) => {
    const source = config.sourceByWriteKey(key, now())?.data;
    return source?.enabled ? source : undefined;
  };
  const refuse = (key: string): AuthFault => {
    const code = config.sourceByWriteKey(key, now()) ? 'source_disabled' : 'unknown_write_key';
    if (mayLog(key)) log.warn({ key: masked(key), code }, 'key.refused');
    return code;
  };

  const find: Sources['find'] = async (key) => {
    if (key === undefined) return 'missing_write_key';
    const source = known(key);
    if (source) return source;
    try {
      await config.refresh(REFRESH_DEADLINE_MS);
    } catch (error) {
      if (mayLog('')) log.error({ reason: messageOf(error) }, 'config.unreadable');
      return 'config_unavailable';
    }
    return known(key) ?? refuse(key);
  };
  return { known, find };
}

/** Enough to recognise one's own key, too little to use it. */
function masked(key: string): string {
  return `${key.slice(0, Math.min(4, Math.floor(key.length / 4)))}…`;
}
