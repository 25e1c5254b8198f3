import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';

/**
 * Sessions of a browser: a signed note of whose it is, for which host, and until when. Nothing is kept here, so that a
 * session outlives a restart; it ends with its time, and with the token that it was made by. Pure, but for the keys.
 */

interface Session {
  /** the token's id */
  id: string;
  mark: string;
  /** the Host that it was made at, and holds for */
  host: string;
  /** ms since 1970 */
  until: number;
}

export interface Sessions {
  write(session: Session): string;
  /** undefined for what was not written here, has ended, or was made at another host */
  read(text: string, at: { host: string; nowMs: number }): Session | undefined;
}

/** @param keys as WAYPOST_SECRET_KEY: the first signs, each is believed */
export function createSessions(keys: readonly Buffer[]): Sessions {
  const derived = keys.map((key) => Buffer.from(hkdfSync('sha256', key, '', 'waypost session', 32)));
  const sign = (key: Buffer, text: string) => createHmac('sha256', key).update(text).digest('base64url');
  return {
    write: ({ id, mark, host, until }) => {
      const text = Buffer.from(JSON.stringify([id, mark, host, until])).toString('base64url');
      return `${text}.${sign(derived[0] ?? Buffer.alloc(0), text)}`;
    },
    read: (given, { host, nowMs }) => {
      const [text = '', signature = ''] = given.split('.');
      if (!derived.some((key) => isSame(sign(key, text), signature))) return undefined;
      const [id, mark, of, until] = JSON.parse(Buffer.from(text, 'base64url').toString()) as [
        string,
        string,
        string,
        number,
      ];
      return of === host && nowMs < until ? { id, mark, host: of, until } : undefined;
    },
  };
}

function isSame(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));
}
