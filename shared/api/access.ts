import { type Role } from '../model/config';
import { ADMIN_FIELDS } from '../model/destination-fields';

/**
 * Lists every operation of the control API with the roles that may call it. This file imports no
 * schema, so the console can decide which actions to offer without loading one.
 *
 * It is the only table: if one reading of the path decided access and another found the handler
 * (case, slashes, percent-encoding), a request could pass the first and reach the second. Paths are
 * not normalised, because every proxy in front of control would have to normalise in the same way.
 */

/**
 * The resources of the API. `/session` and `/openapi.json` are open to every token; `/lookup` needs
 * the rights of what it shows.
 */
export const RESOURCES = [
  'about',
  'alerts',
  'audiences',
  'audit',
  'catalog',
  'computed-traits',
  'deletions',
  'deliveries',
  'destinations',
  'events',
  'filters',
  'notices',
  'overview',
  'replays',
  'sources',
  'tokens',
] as const;
type Resource = (typeof RESOURCES)[number];

/** Narrows the role of a token. The resource is the first segment of a path. */
export type Right = `${Resource}:${'read' | 'write'}`;

/** Every right that a token may list, in alphabetical order. */
export const RIGHTS: readonly Right[] = RESOURCES.flatMap(
  (resource) => [`${resource}:read`, `${resource}:write`] as const,
);

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
type PathOf<First extends string> = `/${First}` | `/${First}/${string}`;

/** Method and path below /api/v1. `{id}` is the only parameter, at most once in a path. */
type OperationKey = `${Method} ${PathOf<Resource> | '/lookup' | '/session' | '/openapi.json'}`;

export interface Access {
  /** the least role; `none`: needs no token */
  role: Role | 'none';
  /** true: a POST that computes something and stores nothing needs the right to read */
  reads?: true;
  /** rights that tokens need in addition, because the response contains other resources */
  alsoNeeds?: readonly Right[];
  /**
   * fields that only administrators may set, because they control where Waypost sends and how it
   * signs: an operator could direct signed and decrypted data to an address of their own
   */
  adminFields?: readonly string[];
}

const open = { role: 'none' } as const;
const reader = { role: 'read_only' } as const;
const operator = { role: 'operator' } as const;
const admin = { role: 'admin' } as const;

/** By operation, in the order of the documentation. */
export const ACCESS = {
  'GET /openapi.json': open,
  'GET /catalog': reader,
  'GET /sources': reader,
  'POST /sources': admin,
  'GET /sources/{id}': reader,
  'PATCH /sources/{id}': operator,
  'DELETE /sources/{id}': admin,
  'GET /sources/{id}/events': reader,
  'POST /sources/{id}/rotate-key': admin,
  'GET /destinations': reader,
  'POST /destinations': admin,
  // With an event, it needs the right to read events, too.
  'POST /destinations/preview': { ...reader, reads: true },
  'GET /destinations/{id}': reader,
  'PATCH /destinations/{id}': {
    ...operator,
    adminFields: ADMIN_FIELDS,
  },
  'DELETE /destinations/{id}': admin,
  'POST /destinations/{id}/rotate-secret': admin,
  'GET /destinations/{id}/public-keys': open,
  'POST /destinations/{id}/test': operator,
  'GET /destinations/{id}/health': reader,
  'POST /destinations/{id}/enable-webhook': operator,
  'POST /destinations/{id}/disable-webhook': operator,
  'POST /destinations/{id}/retry': operator,
  'POST /destinations/{id}/cancel': operator,
  'GET /destinations/{id}/filter': { ...reader, alsoNeeds: ['events:read'] },
  'POST /filters/try': { ...reader, alsoNeeds: ['events:read'] },
  'GET /alerts': reader,
  'PATCH /alerts': admin,
  'POST /alerts/rotate-secret': admin,
  'POST /alerts/test': operator,
  'GET /audiences': reader,
  'POST /audiences': admin,
  'POST /audiences/preview': { ...reader, alsoNeeds: ['audiences:read'] },
  'GET /audiences/previews/{id}': reader,
  'DELETE /audiences/previews/{id}': reader,
  'GET /audiences/{id}': reader,
  'PATCH /audiences/{id}': operator,
  'DELETE /audiences/{id}': admin,
  'GET /audiences/{id}/members': reader,
  'PUT /audiences/{id}/members': operator,
  'PATCH /audiences/{id}/members': operator,
  'GET /audiences/{id}/syncs': reader,
  'GET /audiences/{id}/sizes': reader,
  'GET /computed-traits': reader,
  'POST /computed-traits': admin,
  'GET /computed-traits/{id}': reader,
  'PATCH /computed-traits/{id}': operator,
  'DELETE /computed-traits/{id}': admin,
  'GET /computed-traits/{id}/members': reader,
  'GET /computed-traits/{id}/syncs': reader,
  'GET /computed-traits/{id}/sizes': reader,
  'GET /deliveries': reader,
  'GET /deliveries/{id}': reader,
  'GET /events': reader,
  'GET /events/stream': reader,
  'GET /deletions': admin,
  'POST /deletions': admin,
  'GET /deletions/{id}': admin,
  'POST /deliveries/{id}/replay': operator,
  'POST /deliveries/{id}/retry': operator,
  'POST /deliveries/{id}/cancel': operator,
  'GET /replays': reader,
  'POST /replays': operator,
  'GET /replays/{id}': reader,
  'POST /replays/{id}/cancel': operator,
  'POST /replays/{id}/resume': operator,
  'GET /lookup': { ...reader, alsoNeeds: ['events:read', 'deliveries:read'] },
  'GET /notices': reader,
  'GET /notices/{id}': reader,
  'POST /notices/{id}/acknowledge': operator,
  'POST /notices/acknowledge': operator,
  'GET /overview': reader,
  'GET /overview/calls': reader,
  'GET /about': reader,
  'POST /session': open,
  'GET /session': reader,
  'DELETE /session': reader,
  'GET /tokens': admin,
  'POST /tokens': admin,
  'GET /tokens/{id}': admin,
  'PATCH /tokens/{id}': admin,
  'DELETE /tokens/{id}': admin,
  'GET /audit': admin,
} as const satisfies Partial<Record<OperationKey, Access>>;

export type OperationId = keyof typeof ACCESS;
export const OPERATION_IDS = Object.keys(ACCESS) as OperationId[];

/** Returns the access rules of an operation. */
export const accessTo = (id: OperationId): Access => ACCESS[id];

/**
 * Returns the rights that a token with a list of rights needs, all of them; empty if every token
 * may call it.
 */
export function rightsFor(id: OperationId): Right[] {
  const [method, path = ''] = id.split(' ');
  const resource = RESOURCES.find((each) => each === path.split('/')[1]);
  const { role, alsoNeeds = [], reads } = accessTo(id);
  if (role === 'none') return [];
  const own: Right[] = resource
    ? [`${resource}:${method === 'GET' || reads ? 'read' : 'write'}`]
    : [];
  return [...own, ...alsoNeeds];
}

/** @param rights undefined: all that the role allows */
export function hasRight(rights: readonly string[] | undefined, right: Right): boolean {
  return rights === undefined || rights.includes(right);
}

/** Roles in ascending order of power. */
const RANK: Record<Access['role'], number> = { none: -1, read_only: 0, operator: 1, admin: 2 };

export function mayAct(role: Role, needed: Access['role']): boolean {
  return RANK[role] >= RANK[needed];
}
