import { type ConfigReader } from '../../shared/config/types';
import { type Source } from '../../shared/model/config';
import { sleep } from '../../shared/runtime/async';
import { messageOf } from '../../shared/runtime/errors';
import { type Log } from '../../shared/telemetry/log';
import { type RefusalCode } from './responses';
import { logThrottle } from '../../shared/runtime/load-limits';

/**
 * Finds the source of a write key. It refuses a key only after reading `config` to its end: clients
 * drop calls that a 401 refuses, and a source that was created or enabled a moment ago may not have
 * reached this process.
 */

/** Clients give up after 10 s, and the calls must still be stored within our 5 s. */
const REFRESH_DEADLINE_MS = 2_000;
/**
 * Without this pause, an address that sends wrong keys all the time would cause a hundred requests
 * a second for the end of `config`. It is less than the 200 ms in which an address regains one
 * refusal, so that such an address stays limited.
 */
const LOOK_EVERY_MS = 150;
/** The clients for Go repeat a refused batch ten times. */
const LOG_INTERVAL_MS = 60_000;
const LOG_MAX_KEYS = 1_000;

type AuthFault = Extract<
  RefusalCode,
  'missing_write_key' | 'unknown_write_key' | 'source_disabled' | 'config_unavailable'
>;

export interface Sources {
  /**
   * Returns the enabled source of a key, as far as this process knows; undefined proves nothing.
   */
  known(key: string): Source | undefined;
  /**
   * Reads `config` to its end before it refuses.
   * @param paced true: shares one refresh of `config` with other such requests, up to LOOK_EVERY_MS
   *   later
   */
  find(key: string | undefined, paced?: boolean): Promise<Source | AuthFault>;
}

/** Returns the user name of Basic authentication, also of a value without a colon. */
function basicUser(authorization: string | undefined): string | undefined {
  if (authorization?.slice(0, 6).toLowerCase() !== 'basic ') return undefined;
  const text = Buffer.from(authorization.slice(6), 'base64').toString('utf8');
  const colon = text.indexOf(':');
  const user = colon < 0 ? text : text.slice(0, colon);
  return user === '' ? undefined : user;
}

/**
 * Returns the write key that a request names before its body: in Basic authentication, otherwise as
 * `?writeKey=`, since a beacon of a browser has neither headers nor, at RudderStack, a key in its
 * body.
 */
export function namedKey(authorization: string | undefined, url: string): string | undefined {
  return basicUser(authorization) ?? queryKey(url);
}

function queryKey(url: string): string | undefined {
  const query = url.indexOf('?');
  if (query < 0) return undefined;
  return new URLSearchParams(url.slice(query)).get('writeKey') || undefined;
}

export function createSources(options: {
  config: ConfigReader;
  log: Log;
  now: () => number;
}): Sources {
  const { config, log, now } = options;
  const mayLog = logThrottle(LOG_INTERVAL_MS, LOG_MAX_KEYS);

  const known = (key: string) => {
    const source = config.sourceByWriteKey(key, now())?.data;
    return source?.enabled ? source : undefined;
  };
  const refuse = (key: string): AuthFault => {
    const code = config.sourceByWriteKey(key, now()) ? 'source_disabled' : 'unknown_write_key';
    if (mayLog(key)) log.warn({ key: masked(key), code }, 'key.refused');
    return code;
  };

  const refresh = () => config.refresh(REFRESH_DEADLINE_MS);
  const pacedRefresh = shareEvery(LOOK_EVERY_MS, refresh);
  const find: Sources['find'] = async (key, paced = false) => {
    if (key === undefined) return 'missing_write_key';
    const source = known(key);
    if (source) return source;
    try {
      await (paced ? pacedRefresh() : refresh());
    } catch (error) {
      if (mayLog('')) log.error({ reason: messageOf(error) }, 'config.unreadable');
      return 'config_unavailable';
    }
    return known(key) ?? refuse(key);
  };
  return { known, find };
}

/**
 * Shares each call among the callers that asked before it began; calls begin at least `everyMs`
 * apart.
 */
function shareEvery(everyMs: number, call: () => Promise<void>): () => Promise<void> {
  let waiting: Promise<void> | undefined;
  let lastAt = -Infinity;
  const next = async () => {
    await sleep(Math.max(0, lastAt + everyMs - performance.now()));
    waiting = undefined;
    lastAt = performance.now();
    return call();
  };
  return () => (waiting ??= next());
}

/** Masks a key: its owner can recognise it, and others cannot use it. */
function masked(key: string): string {
  return `${key.slice(0, Math.min(4, Math.floor(key.length / 4)))}…`;
}

/**
 * UTF-16 of either order contains the second: the zero byte behind a letter is that of the next.
 */
const KEY_FIELDS = [Buffer.from('"writeKey"'), Buffer.from('"writeKey"', 'utf16le')];
const KEY_VALUE = /^\s*:\s*"([^"\\]{1,200})"/;
/**
 * Bytes after `"writeKey"` that are searched for its value: 200 characters for the key, the rest
 * for spaces. UTF-16 has two bytes for each.
 */
const KEY_WINDOW = 512;
/** Each key is hashed before its lookup, and a small gzipped body can name 34,000 keys. */
const MAX_CANDIDATES = 8;
/** Some clients repeat the key in each of 2,500 calls. */
const MAX_OCCURRENCES = 2_500;

/** Returns the source of one of the first keys in the text of a body. */
export function sourceInText(body: Buffer, sources: Sources): Source | undefined {
  const key = keyInText(body, sources);
  return key === undefined ? undefined : sources.known(key);
}

/**
 * Returns one of the first keys in the text that is of a source, without decoding or parsing it:
 * that would cost ten times as much.
 */
export function keyInText(body: Buffer, sources: Sources): string | undefined {
  const seen = new Set<string>();
  let looks = 0;
  for (const field of KEY_FIELDS) {
    let at = body.indexOf(field);
    while (at >= 0 && looks < MAX_OCCURRENCES && seen.size < MAX_CANDIDATES) {
      const from = at + field.length;
      const window = body.toString('latin1', from, from + KEY_WINDOW).replaceAll('\0', '');
      const key = KEY_VALUE.exec(window)?.[1];
      if (key !== undefined && !seen.has(key)) {
        if (sources.known(key)) return key;
        seen.add(key);
      }
      looks++;
      at = body.indexOf(field, from);
    }
  }
  return undefined;
}
