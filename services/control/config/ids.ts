import { randomBytes } from 'node:crypto';

/** `src_mb1x9k2f0a1b2c3d4e5f6a7b`: ids in order of creation (to the millisecond; the length is constant until 2059). */
export function newId(
  prefix: 'src' | 'dst' | 'whk' | 'del' | 'rpl' | 'tok' | 'aud' | 'trt' | 'pre' | 'qst',
  now: Date,
): string {
  return `${prefix}_${now.getTime().toString(36)}${randomBytes(8).toString('hex')}`;
}

/** Letters and digits only, because it is part of clients' pages and of Basic user names. */
export function newWriteKey(): string {
  return randomBytes(16).toString('hex');
}

/** In the format of Standard Webhooks, so that its libraries accept it unchanged. */
export function newSharedSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}
