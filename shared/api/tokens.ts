import { z } from 'zod';
import { ROLES } from '../model/config';
import { RIGHTS } from './access';
import { changed, list, name, pageParameters, patchOf, time, timeInput } from './fields';
import { type OperationsOf } from './operation';

/** API tokens and browser sessions: requests, responses and operations. */

export const tokenBody = z.strictObject({
  name,
  role: z.enum(ROLES).meta({
    description:
      'admin: everything. operator: operations (pause, switch, test, replay), no secrets. ' +
      'read_only: read access',
  }),
  expiresAt: timeInput
    .transform((text) => new Date(text).toISOString())
    .optional()
    .meta({ description: 'When the token and its sessions expire. Omit for never' }),
  rights: z
    .array(z.enum(RIGHTS))
    .min(1)
    .transform((rights) => [...new Set(rights)])
    .optional()
    .meta({
      description:
        'Restricts the role: read is GET, write is every other method and does not include ' +
        'read. Omit for all rights of the role',
    }),
});
export type TokenFields = z.output<typeof tokenBody>;

const token = z.strictObject({
  id: z.string(),
  name: z.string(),
  role: z.enum(ROLES),
  ...changed,
  rights: z.array(z.enum(RIGHTS)).nullable().meta({ description: 'null: all rights of the role' }),
  expiresAt: time.nullable().meta({ description: 'null: never' }),
  lastUsedAt: time.nullable().meta({ description: 'To the minute; null if unknown' }),
});

export const sessionBody = z.strictObject({
  token: z.string().min(1).max(500).meta({ writeOnly: true }),
});

/** The author of a change or a request. */
export const actor = z.strictObject({ id: z.string(), name: z.string(), role: z.enum(ROLES) });
const session = actor.extend({
  rights: z.array(z.string()).nullable().meta({ description: 'null: all rights of the role' }),
  expiresAt: time.nullable(),
});

export const TOKEN_RESPONSES = {
  Token: token,
  Tokens: list(token),
  NewToken: token.extend({
    token: z.string().meta({ description: 'The token, only in this response' }),
  }),
  Session: session,
};

export const TOKEN_OPERATIONS = {
  'GET /tokens': { summary: 'List API tokens', ok: [200, 'Tokens'], query: pageParameters },
  'POST /tokens': {
    summary: 'Create a token. Only this response contains it',
    ok: [201, 'NewToken'],
    location: '/tokens/{id}',
    body: tokenBody,
  },
  'GET /tokens/{id}': { summary: 'Get a token', ok: [200, 'Token'] },
  'PATCH /tokens/{id}': {
    summary: 'Update a token',
    ok: [200, 'Token'],
    body: patchOf(tokenBody),
    conditional: true,
  },
  'DELETE /tokens/{id}': {
    summary: 'Delete a token and end its sessions',
    ok: [204],
    conditional: true,
  },
  'POST /session': {
    act: { kind: 'session', action: 'created' },
    summary: 'Start a browser session',
    ok: [200, 'Session'],
    body: sessionBody,
  },
  'GET /session': { summary: 'Get the identity of the caller', ok: [200, 'Session'] },
  'DELETE /session': {
    act: { kind: 'session', action: 'deleted' },
    summary: 'End the session',
    ok: [204],
  },
} as const satisfies OperationsOf<'tokens' | 'session'>;
