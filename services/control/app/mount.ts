import { stringifyJson } from '../../../shared/json/json';
import { type Request, type RequestHandler, type Response } from 'express';
import {
  mayAct,
  type Method,
  type OperationId,
  rightsFor,
  OPERATION_IDS,
} from '../../../shared/api/access';
import { type Operation } from '../../../shared/api/operation';
import { operationOf } from '../../../shared/api/operations';
import { type Role } from '../../../shared/model/config';
import { type Json } from '../../../shared/model/message';
import { type AuditDeps, beginAudit } from '../audit/begin-audit';
import { type Access, credentialsOf, identify, requireRights } from '../auth/authenticate';
import { type Handlers } from '../http/handlers';
import { type Identity } from '../http/identity';
import { etag } from '../http/entry-patch';
import { readJson, parseQuery } from '../http/validate';
import { methodNotAllowed, noSuchPath, Problem } from '../http/problem';
import { TokenSlots } from '../http/slots';

/**
 * Finds the operation of a request by its path. A path has one spelling: same case, no
 * percent-encoding, no empty segment, no dot segment, no trailing slash. Any other spelling is an
 * unknown path, for every role. Ids contain only letters, digits, `_` and `-`, so clients never
 * need to encode one.
 */

export const BASE = '/api/v1';
const ID = /^[A-Za-z0-9_-]{1,200}$/;

/** Of one token. A page of the console sends a few at a time. */
const READS = {
  atOnce: 4,
  mostWaiting: 100,
  refusal:
    '100 requests of this token are already waiting. Send the next one when they have been answered',
};

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
  return paths.sort(
    (a, b) => Number(a.template.includes('{id}')) - Number(b.template.includes('{id}')),
  );
}

/**
 * @param url the request target, with the query. Pure. @returns undefined if the table has no such
 *   path
 */
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

/**
 * Returns whether a path, in any spelling, leads to `/api`, where the console serves nothing. Pure.
 */
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
  return path.replace(/%([0-7][0-9a-f])/gi, (_, hex: string) =>
    String.fromCharCode(parseInt(hex, 16)),
  );
}

/**
 * Serves the table of operations. It checks each request in this order: the path (404), the method
 * (405), the token (401), its role and rights (403), the body (400, 413), the fields for
 * administrators (403), the query (422), and then calls the handler, whose result it sends with the
 * status and the headers of the table. Nothing outside the table is served below `/api`.
 */

export function mount(handlers: Handlers, access: Access, deps: AuditDeps): RequestHandler {
  const reads = new TokenSlots(READS);
  return async (req, res, next) => {
    const found = findPath(req.url);
    if (!found) {
      // Not a path but `*`, or a whole URL, which only proxies receive.
      if (isApi(req.url) || !req.url.startsWith('/')) throw noSuchPath(req);
      next();
      return;
    }
    const operation = operationFor(req, found.path);
    if (!operation) throw methodNotAllowed(req.method, allowed(found.path));
    try {
      await serve(operation, found.id, { req, res });
    } catch (error) {
      const token = credentialsOf(access, req)?.actor.id;
      throw access.refusals.responseTo(error, req, { operation, token });
    }
  };

  async function serve(
    operation: OperationId,
    id: string,
    { req, res }: { req: Request; res: Response },
  ) {
    const {
      role,
      adminFields = [],
      body: takes,
      query: parameters,
      act,
      stream,
    } = operationOf(operation);
    const allow = (): Identity | undefined => {
      if (role === 'none') return undefined;
      const identity = identify(access, req, deps.now().getTime());
      requireAccess(operation, role, identity);
      return identity;
    };
    const asker = allow();
    if (asker) access.tokenUses.note(asker.actor.id);
    const body = takes && (await readJson(req, res, role === 'none'));
    // The token may have ended, or lost the right, while the body came.
    const identity = takes ? allow() : asker;
    if (identity) requireFields(adminFields, body, identity);
    const query = parameters && parseQuery(parameters, req.query);
    const stillAllowed = () => isAllowed(allow, identity);
    const ifMatch = req.get('if-match');
    const call = {
      id,
      query,
      body,
      ifMatch,
      by: identity?.actor,
      identity,
      stillAllowed,
      req,
      res,
    };
    // The table guarantees the types of `Call`, since `query`, `by` and `identity` were built from
    // it.
    const handle = handlers[operation] as (call: object) => Promise<object | undefined>;
    const audit = act && beginAudit(act, call, deps);
    try {
      const result =
        identity && isRead(operation)
          ? // Nobody waits for the answer if the connection has ended in the meantime.
            await reads.use(identity.actor.id, async () =>
              res.closed ? undefined : await handle(call),
            )
          : await handle(call);
      if (!stream) respond(res, operationOf(operation), result);
    } catch (error) {
      audit?.(error);
      throw error;
    }
    audit?.();
  }
}

/** A stream has no end, and a search for events has its own bound. */
function isRead(operation: OperationId): boolean {
  const { stream } = operationOf(operation);
  return operation.startsWith('GET ') && !stream && operation !== 'GET /lookup';
}

/** An entry has a version, which is its entity tag. */
function respond(
  res: Response,
  { ok: [status, name], location }: Operation,
  result: { id?: unknown; version?: unknown } = {},
) {
  res.status(status);
  if (location !== undefined) res.location(BASE + location.replace('{id}', String(result.id)));
  if (typeof result.version === 'number') res.set('ETag', etag(result.version));
  if (name === undefined) res.end();
  else res.type('json').send(stringifyJson(result));
}

/** HEAD is handled as GET without a body. A stream would never end. */
function operationFor({ method }: Request, { operations }: Path): OperationId | undefined {
  if (method !== 'HEAD') return operations.get(method as Method);
  const id = operations.get('GET');
  return id && !operationOf(id).stream ? id : undefined;
}

function allowed({ operations }: Path): string[] {
  return [...operations].flatMap(([method, id]) =>
    method === 'GET' && !operationOf(id).stream ? ['GET', 'HEAD'] : [method],
  );
}

function isAllowed(allow: () => Identity | undefined, before: Identity | undefined): boolean {
  try {
    return allow()?.actor.id === before?.actor.id;
  } catch {
    return false;
  }
}

/**
 * An actor who cannot see secrets must not set their target: Waypost would sign requests, and send
 * encrypted headers, to an address of that actor.
 * @throws Problem `forbidden`
 */
function requireFields(
  adminFields: readonly string[],
  body: Json | undefined,
  { actor }: Identity,
): void {
  if (actor.role === 'admin' || typeof body !== 'object' || body === null) return;
  const given = adminFields.filter((field) => Object.hasOwn(body, field));
  if (given.length > 0) {
    throw new Problem('forbidden', `Only an administrator can change ${given.join(' and ')}`);
  }
}

/** @throws Problem `forbidden` */
function requireAccess(id: OperationId, needed: Role, { actor, rights }: Identity): void {
  if (!mayAct(actor.role, needed)) {
    throw new Problem(
      'forbidden',
      `This requires the role ${needed}; your token has ${actor.role}`,
    );
  }
  requireRights(rightsFor(id), rights);
}
