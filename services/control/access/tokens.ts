import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { type Entry } from '../../../shared/config/view';
import { type Role, ROLES, type Token } from '../../../shared/domain/config';
import { type Json } from '../../../shared/domain/message';
import { mergePatch } from '../merge-patch';
import { name, parseBody } from '../fields';

/** What may be done to a token of the API, and what is shown of it: never itself, but for once. Pure: ids are given. */

export const tokenSchema = z.strictObject({
  name,
  role: z.enum(ROLES).meta({
    description:
      'admin: everything. operator: everything that runs (pause, switch, test, replay), no secrets. read_only: looks',
  }),
});

export function newToken(): string {
  return `wpt_${randomBytes(32).toString('base64url')}`;
}

/** @throws Problem `invalid_fields` */
export function createToken(body: unknown, made: { id: string; hash: string; now: Date }): Token {
  const at = made.now.toISOString();
  return { id: made.id, ...parseBody(tokenSchema, body), hash: made.hash, createdAt: at, updatedAt: at };
}

/** @throws Problem `invalid_fields` */
export function patchToken(token: Token, patch: Json, now: Date): Token {
  const merged = mergePatch({ name: token.name, role: token.role }, patch);
  return { ...token, ...parseBody(tokenSchema, merged), updatedAt: now.toISOString() };
}

export function tokenView({ version, data }: Entry<Token>) {
  const { id, name: label, role, createdAt, updatedAt } = data;
  return { id, name: label, role, version, createdAt, updatedAt };
}

/** Roles in the order of what they may. */
const RANK: Record<Role, number> = { read_only: 0, operator: 1, admin: 2 };

export function mayAct(role: Role, needed: Role): boolean {
  return RANK[role] >= RANK[needed];
}
