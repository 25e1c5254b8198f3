import { type ServerResponse } from 'node:http';

/** The responses of a receiver, good and bad. */

const BIG_CHUNK = Buffer.alloc(64 * 1024, 'x');

/** The response of a path. Defaults: 200 immediately, with `ok` as the body. */
export interface Answer {
  status?: number;
  headers?: Record<string, string>;
  body?: string | Buffer;
  /** delay before the head of the response */
  delayMs?: number;
  /**
   * `hang`: reads the request and never responds. `never_read`: does not even read its body.
   * `reset`: resets the connection once the request has arrived. `drip`: the head immediately, then
   * a byte of the body every `dripMs`, without end. `endless`: the head, and then as much body as
   * the other side reads.
   */
  misbehave?: 'hang' | 'never_read' | 'reset' | 'drip' | 'endless';
  /** default 100 */
  dripMs?: number;
}

/** Sends a response. @param reset resets the connection below it */
export function respond(res: ServerResponse, answer: Answer, reset: () => void): void {
  const { misbehave, status = 200, headers = {}, body = 'ok' } = answer;
  switch (misbehave) {
    case 'hang':
    case 'never_read':
      return;
    case 'reset':
      reset();
      return;
    case 'drip': {
      res.writeHead(status, headers);
      const timer = setInterval(() => res.write('.'), answer.dripMs ?? 100);
      res.once('close', () => clearInterval(timer));
      return;
    }
    case 'endless': {
      res.writeHead(status, headers);
      const pour = () => {
        while (!res.destroyed && res.write(BIG_CHUNK));
      };
      res.on('drain', pour);
      pour();
      return;
    }
    case undefined:
      res.writeHead(status, headers);
      res.end(body);
  }
}
