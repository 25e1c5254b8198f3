import { type Request, type RequestHandler, type Response } from 'express';
import { type z } from 'zod';
import { type Role } from '../../shared/domain/config';
import { type Json } from '../../shared/domain/message';
import { methodNotAllowed, noSuchPath, Problem } from '../../shared/http/problem';
import { type ActDeps, auditAct } from './access/acts';
import { type Access, identify } from './access/authenticate';
import { type Actor, type Identity } from './access/identities';
import { hasRight, mayAct } from './access/rights';
import { readJson } from './body';
import { type Method } from './operation';
import { type OperationId, operationOf, type OPERATIONS, rightFor } from './operations';
import { BASE, findPath, isApi, type Path } from './paths';
import { parseQuery } from './query';

/**
 * Serves the table of operations. For each request, in this order: the path (404), the method (405), the token (401), its role and
 * rights (403), the body (400, 413), the query (422), and then the handler. Nothing outside the table is served below `/api`.
 */

type Query<Id extends OperationId> = (typeof OPERATIONS)[Id] extends { query: infer S extends z.ZodType }
  ? z.output<S>
  : undefined;
type Open<Id extends OperationId> = (typeof OPERATIONS)[Id] extends { role: 'none' } ? true : false;

/** What a handler is given. It is the `At` of `entries.change` as well. */
export interface Call<Id extends OperationId = OperationId> {
  /** `{id}` of the path; empty where it has none */
  id: string;
  /** of the request, without the query */
  path: string;
  query: Query<Id>;
  /** undefined where there is none, and where the operation takes lines */
  body: Json | undefined;
  ifMatch: string | undefined;
  /** An operation without a token sets this when it knows who asks. */
  by: Open<Id> extends true ? Actor | undefined : Actor;
  identity: Open<Id> extends true ? undefined : Identity;
  /** For an answer that lasts: false once the token or the session has ended, or may no longer do this. */
  stillAllowed: () => boolean;
  req: Request;
  res: Response;
}

type Handler<Id extends OperationId> = (call: Call<Id>) => void | Promise<void>;
/** One for each operation: a table that lacks one does not compile. */
export type Handlers = { [Id in OperationId]: Handler<Id> };
/** Those of all paths that begin with a resource; one too many does not compile either. */
export type HandlersOf<First extends string> = Pick<
  Handlers,
  Extract<OperationId, `${string} /${First}` | `${string} /${First}/${string}`>
>;

export function mount(handlers: Handlers, access: Access, deps: ActDeps): RequestHandler {
  return async (req, res, next) => {
    const found = findPath(req.url);
    if (!found) {
      // Not a path at all: `*`, or the whole URL, which only proxies are sent.
      if (isApi(req.url) || !req.url.startsWith('/')) throw noSuchPath(req);
      next();
      return;
    }
    const id = operationFor(req, found.path);
    if (!id) throw methodNotAllowed(req.method, allowed(found.path));
    const operation = operationOf(id);
    const allow = (): Identity | undefined => {
      if (operation.role === 'none') return undefined;
      const identity = identify(access, req, deps.now().getTime());
      requireAccess(id, operation.role, identity);
      return identity;
    };
    const identity = allow();
    if (identity) access.uses.note(identity.actor.id);
    const body = operation.lines ? undefined : await readJson(req, res);
    const query = operation.query && parseQuery(operation.query, req.query);
    const path = BASE + found.path.template.replace('{id}', found.id);
    const ifMatch = req.get('if-match');
    const stillAllowed = () => isAllowed(allow, identity);
    const call = { id: found.id, path, query, body, ifMatch, by: identity?.actor, identity, stillAllowed, req, res };
    if (operation.act) auditAct(operation.act, call, deps);
    // The types of `Call` follow from the table, by which `query`, `by` and `identity` were just made.
    await (handlers[id] as (call: object) => void | Promise<void>)(call);
  };
}

/** HEAD is a GET without a body, which a stream would never end. */
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

/** @throws Problem `forbidden` */
function requireAccess(id: OperationId, needed: Role, { actor, rights }: Identity): void {
  if (!mayAct(actor.role, needed)) {
    throw new Problem('forbidden', `This needs the role ${needed}; yours is ${actor.role}`);
  }
  const right = rightFor(id);
  if (!hasRight(rights, right)) {
    throw new Problem('forbidden', `This needs the right ${String(right)}, which your token does not list`);
  }
}
