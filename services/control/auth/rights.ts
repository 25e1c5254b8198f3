import { type Role } from '../../../shared/model/config';

/** Rights narrow the role of a token. A resource is the first segment of its paths. */

/** The resources of the API. `/session` and `/openapi.json` are open to every token. */
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

export type Resource = (typeof RESOURCES)[number];
export type Right = `${Resource}:${'read' | 'write'}`;

/** Every right that a token may list, in alphabetical order. */
export const RIGHTS: readonly Right[] = RESOURCES.flatMap(
  (resource) => [`${resource}:read`, `${resource}:write`] as const,
);

/** Roles in ascending order of power. */
const RANK: Record<Role, number> = { read_only: 0, operator: 1, admin: 2 };

/** @param rights undefined: all that the role allows */
export function hasRight(rights: readonly string[] | undefined, right: Right): boolean {
  return rights === undefined || rights.includes(right);
}

export function mayAct(role: Role, needed: Role): boolean {
  return RANK[role] >= RANK[needed];
}
