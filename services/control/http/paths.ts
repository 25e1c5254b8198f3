import { type Method, OPERATION_IDS, type OperationId } from '../../../shared/api/access';

/**
 * Finds the operation of a request by its path. A path has one spelling: same case, no percent-encoding, no empty
 * segment, no dot segment, no trailing slash. Any other spelling is an unknown path, for every role. Ids contain only
 * letters, digits, `_` and `-`, so clients never need to encode one.
 */

export const BASE = '/api/v1';
const ID = /^[A-Za-z0-9_-]{1,200}$/;

/** A path of the table with its operations by method. */
export interface Path {
  /** `/sources/{id}` */
  template: string;
  parts: readonly string[];
  operations: ReadonlyMap<Method, OperationId>;
}

const PATHS = pathsOf(OPERATION_IDS);

function pathsOf(ids: readonly OperationId[]): readonly Path[] {
  const byTemplate = new Map<string, Map<Method, OperationId>>();
  for (const id of ids) {
    const [method, template] = id.split(' ') as [Method, string];
    const operations = byTemplate.get(template) ?? new Map<Method, OperationId>();
    byTemplate.set(template, operations.set(method, id));
  }
  const paths = [...byTemplate].map(([template, operations]) => ({
    template,
    parts: template.split('/').slice(1),
    operations,
  }));
  // `/audiences/preview` is found before `/audiences/{id}`.
  return paths.sort((a, b) => Number(a.template.includes('{id}')) - Number(b.template.includes('{id}')));
}

/** @param url the request target, with the query. Pure. @returns undefined if the table has no such path */
export function findPath(url: string): { path: Path; id: string } | undefined {
  const [plain = ''] = url.split('?', 1);
  if (!plain.startsWith(`${BASE}/`)) return undefined;
  const given = plain.slice(BASE.length + 1).split('/');
  const fits = ({ parts }: Path) =>
    parts.length === given.length &&
    parts.every((part, i) => (part === '{id}' ? ID.test(given[i] ?? '') : part === given[i]));
  const path = PATHS.find(fits);
  return path && { path, id: given[path.parts.indexOf('{id}')] ?? '' };
}

/** Returns whether a path, in any spelling, leads to `/api`, where the console serves nothing. Pure. */
export function isApi(url: string): boolean {
  const [path = ''] = url.split('?', 1);
  const parts: string[] = [];
  for (const part of unescaped(path).replaceAll('\\', '/').split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return parts[0]?.toLowerCase() === 'api';
}

/** Like decodeURIComponent for ASCII characters, and does not throw on a broken sequence. */
function unescaped(path: string): string {
  return path.replace(/%([0-7][0-9a-f])/gi, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
}
