import { type Request, type Response } from 'express';
import { type ACCESS, type OperationId } from '../../../shared/api/access';
import { type Operations, type Query, type StreamId } from '../../../shared/api/operations';
import { type Json } from '../../../shared/model/message';
import { type Actor, type Identity } from './identity';

/** The types of the handlers of operations, which follow from the table of operations. */

type Open<Id extends OperationId> = (typeof ACCESS)[Id] extends { role: 'none' } ? true : false;

/** The input of a handler. It also serves as the `At` of `entries.change`. */
export interface Call<Id extends OperationId = OperationId> {
  /** `{id}` of the path; empty if the path has none */
  id: string;
  query: Query<Id>;
  /**
   * undefined if the request has no body, or the operation has no `body` in the table: then it is
   * not read
   */
  body: Json | undefined;
  ifMatch: string | undefined;
  /** An operation without a token sets this once it knows the actor. */
  by: Open<Id> extends true ? Actor | undefined : Actor;
  identity: Open<Id> extends true ? undefined : Identity;
  /** For a long response: false once the token or the session has ended, or lost the right. */
  stillAllowed: () => boolean;
  /** for headers, cookies and streams; `mount` sends the response */
  req: Request;
  res: Response;
}

/** Returns the body of the response; undefined for an operation without one, and for a stream. */
type Handler<Id extends OperationId> = (call: Call<Id>) => ResponseOf<Id> | Promise<ResponseOf<Id>>;
type ResponseOf<Id extends OperationId> = Id extends StreamId
  ? undefined
  : Operations[Id]['response'];

/** One handler for each operation: a missing one does not compile. */
export type Handlers = { [Id in OperationId]: Handler<Id> };
/** The handlers of all paths of a resource; a superfluous one does not compile either. */
export type HandlersOf<First extends string> = Pick<
  Handlers,
  Extract<OperationId, `${string} /${First}` | `${string} /${First}/${string}`>
>;
