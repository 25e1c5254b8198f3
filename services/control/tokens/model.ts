import { randomBytes } from 'node:crypto';
import { type Right } from '../../../shared/api/access';
import { tokenBody, type TokenFields } from '../../../shared/api/tokens';
import { defined } from '../../../shared/collections/defined';
import { type Entry } from '../../../shared/config/types';
import { type Token } from '../../../shared/model/config';
import { type Json } from '../../../shared/model/message';
import { isoTime, isoTimeOrNull } from '../../../shared/model/time';
import { type Identity } from '../http/identity';
import { mergePatch } from '../http/entry-patch';
import { errorAt, Problem } from '../http/problem';
import { invalidFields, parseBody } from '../http/validate';

/**
 * Validates changes of tokens, and builds their API view, which contains the token itself only
 * once. Pure: ids are arguments.
 */

export function newToken(): string {
  return `wpt_${randomBytes(32).toString('base64url')}`;
}

/**
 * @throws Problem `invalid_fields`, or `forbidden` if it would have more rights than `by`, or end
 *   later
 */
export function createToken(
  body: unknown,
  made: { id: string; hash: string; now: Date; by: Identity },
): Token {
  const at = made.now.toISOString();
  const fields = parseBody(tokenBody, body);
  requireFuture(fields, made.now);
  requireOwnRights(fields, made.by);
  requireOwnEnd(endOf(fields), made.by);
  return { id: made.id, ...stored(fields), hash: made.hash, createdAt: at, updatedAt: at };
}

/**
 * @throws Problem `invalid_fields`, or `forbidden` if it would have more rights than `by`, or end
 *   later
 */
export function patchToken(
  token: Token,
  patch: Json,
  { now, by }: { now: Date; by: Identity },
): Token {
  const { name: _, role: __, expiresAt, rights: ___, ...rest } = token;
  const fields = parseBody(tokenBody, mergePatch(stored(token), patch));
  if (fields.expiresAt !== expiresAt) requireFuture(fields, now);
  requireOwnRights(fields, by);
  if (endOf(fields) > endOf(token)) requireOwnEnd(endOf(fields), by);
  return { ...rest, ...stored(fields), updatedAt: now.toISOString() };
}

function stored({ name: label, role, expiresAt, rights }: TokenFields | Token) {
  return {
    name: label,
    role,
    ...defined({
      expiresAt,
      rights,
    }),
  };
}

function requireFuture({ expiresAt }: TokenFields, now: Date): void {
  if (expiresAt === undefined || Date.parse(expiresAt) > now.getTime()) return;
  throw invalidFields([errorAt(['expiresAt'], 'must be in the future')]);
}

/** Prevents a token with the right to create tokens from giving itself every other right. */
function requireOwnRights({ rights }: TokenFields, { rights: own }: Identity): void {
  if (own === undefined) return;
  const missing = rights?.filter((right) => !own.includes(right)) ?? ['all rights of its role'];
  if (missing.length === 0) return;
  throw new Problem(
    'forbidden',
    `Your token cannot give rights that it does not have: ${missing.join(', ')}`,
  );
}

/** Prevents a token from outliving its own end. */
function requireOwnEnd(end: number, { expiresAt }: Identity): void {
  if (expiresAt === undefined || end <= expiresAt) return;
  const at = isoTime(expiresAt);
  throw new Problem(
    'forbidden',
    `Your token ends at ${at}: it cannot create a token that ends later, or extend one`,
  );
}

/** @returns ms since 1970; Infinity: never */
function endOf({ expiresAt }: Pick<TokenFields, 'expiresAt'>): number {
  return expiresAt === undefined ? Infinity : Date.parse(expiresAt);
}

/** @param lastUsedAt ms since 1970 */
export function tokenView({ version, data }: Entry<Token>, lastUsedAt: number | undefined) {
  const { id, name: label, role, expiresAt = null, createdAt, updatedAt } = data;
  // Only control writes rights, from its list.
  const rights = (data.rights ?? null) as Right[] | null;
  const used = isoTimeOrNull(lastUsedAt);
  return {
    id,
    name: label,
    role,
    rights,
    version,
    expiresAt,
    lastUsedAt: used,
    createdAt,
    updatedAt,
  };
}
