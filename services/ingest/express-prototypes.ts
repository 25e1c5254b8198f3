import { type Express } from 'express';
import { IncomingMessage, ServerResponse } from 'node:http';

/**
 * Express gives each request and response its own prototype, by `Object.setPrototypeOf`: V8 then forgets what it has
 * learned of them, and everything that Node does with them afterwards is slow. Measured for a call of 1 KB: 85 µs of CPU
 * a request, of which 55 µs are this. Objects that are born with the prototype that Express wants are left as they are.
 */

/** The part of an Express application that it hands on to requests and responses (left out of its types). */
interface Prototypes {
  request: object;
  response: object;
}

/**
 * Classes for `createServer` whose instances need no change by the app. To be called once, before the app serves.
 * Should Express do it another way some day, all still works, at its old speed.
 */
export function nativePrototypes(app: Express) {
  class Request extends IncomingMessage {}
  class Response extends ServerResponse {}
  const prototypes = app as unknown as Prototypes;
  Object.setPrototypeOf(Request.prototype, prototypes.request);
  Object.setPrototypeOf(Response.prototype, prototypes.response);
  prototypes.request = Request.prototype;
  prototypes.response = Response.prototype;
  return { IncomingMessage: Request, ServerResponse: Response };
}
