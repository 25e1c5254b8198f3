import { RESOURCES, type Right } from '../auth/rights';
import { sessionSchema } from '../auth/responses';
import { tokenSchema } from '../tokens/model';
import { auditQuery } from '../audit/model';
import { DEFINITION_OPERATIONS } from '../audiences/operations';
import { HISTORY_OPERATIONS } from './history-operations';
import { type Operation, type OperationKey, patchOf } from './operation';
import { pageParameters } from './query';
import { SETTING_OPERATIONS } from './setting-operations';

/**
 * Every operation of the control API with its input, its responses and its access rules. `mount` serves exactly these,
 * OpenAPI describes them, and the types of the console and the command line come from there (shared/api).
 */
export const OPERATIONS = {
  'GET /openapi.json': { role: 'none', summary: 'Get this document', ok: [200, 'OpenApi'] },
  ...SETTING_OPERATIONS,
  ...DEFINITION_OPERATIONS,
  ...HISTORY_OPERATIONS,
  'GET /about': { role: 'read_only', summary: 'Get the address that clients send to', ok: [200, 'About'] },
  'POST /session': {
    act: { kind: 'session', action: 'created' },
    role: 'none',
    summary: 'Start a browser session',
    ok: [200, 'Session'],
    body: sessionSchema,
  },
  'GET /session': { role: 'read_only', summary: 'Get the identity of the caller', ok: [200, 'Session'] },
  'DELETE /session': {
    act: { kind: 'session', action: 'deleted' },
    role: 'read_only',
    summary: 'End the session',
    ok: [204],
  },
  'GET /tokens': {
    role: 'admin',
    summary: 'List API tokens',
    ok: [200, 'Tokens'],
    query: pageParameters,
  },
  'POST /tokens': {
    role: 'admin',
    summary: 'Create a token. Only this response contains it',
    ok: [201, 'NewToken'],
    body: tokenSchema,
  },
  'GET /tokens/{id}': { role: 'admin', summary: 'Get a token', ok: [200, 'Token'] },
  'PATCH /tokens/{id}': {
    role: 'admin',
    summary: 'Update a token',
    ok: [200, 'Token'],
    body: patchOf(tokenSchema),
    conditional: true,
  },
  'DELETE /tokens/{id}': {
    role: 'admin',
    summary: 'Delete a token and end its sessions',
    ok: [204],
    conditional: true,
  },
  'GET /audit': {
    role: 'admin',
    summary: 'List the audit trail, newest first',
    ok: [200, 'Audit'],
    query: auditQuery,
  },
} as const satisfies Partial<Record<OperationKey, Operation>>;

export type OperationId = keyof typeof OPERATIONS;

/** Returns an operation with all its fields. */
export const operationOf = (id: OperationId): Operation => OPERATIONS[id];

export const OPERATION_IDS = Object.keys(OPERATIONS) as OperationId[];

/** Returns the rights that a token with a list of rights needs, all of them; empty if every token may call it. */
export function rightsFor(id: OperationId): Right[] {
  const [method, path = ''] = id.split(' ');
  const resource = RESOURCES.find((each) => each === path.split('/')[1]);
  const { alsoNeeds } = operationOf(id);
  const own: Right[] = resource ? [`${resource}:${method === 'GET' ? 'read' : 'write'}`] : [];
  return alsoNeeds ? [...own, alsoNeeds] : own;
}
