import { randomBytes } from 'node:crypto';

/** `src_mb1x9k2f0a1b2c3d4e5f6a7b`: ids in order of creation (to the millisecond; the spelling is as long until 2059). */
export function newId(
  prefix: 'src' | 'dst' | 'whk' | 'del' | 'rpl' | 'tok' | 'aud' | 'trt' | 'pre' | 'qst',
  now: Date,
): string {
  return `${prefix}_${now.getTime().toString(36)}${randomBytes(8).toString('hex')}`;
}

/** Goes into clients' pages and Basic user names: letters and digits only. */
export function newWriteKey(): string {
  return randomBytes(16).toString('hex');
}

/** As Standard Webhooks spells them: its libraries take this text as it is. */
export function newSharedSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}
