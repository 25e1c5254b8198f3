import { randomInt } from 'node:crypto';
import { type RequestHandler } from 'express';
import { messageOf } from '../../../shared/errors';
import { type ControlDeps } from '../deps';
import { recordAudit } from '../history/audit';
import { type Action, type ActKind } from './audit';
import { type Actor } from './identities';

/**
 * What is done through the API that changes no entry of `config`, for the audit trail beside what does: a row when it was
 * answered. It is in the history's database alone, and where that is away, only in the log.
 */

interface Act {
  kind: ActKind | 'destination';
  action: Action;
  /** undefined: what was made is named by the answer */
  entry: string | undefined;
}

const ACTS: readonly (readonly [request: RegExp, kind: Act['kind'], action: Action])[] = [
  [/^POST \/deletions$/, 'deletion', 'created'],
  [/^POST \/replays$/, 'replay', 'created'],
  [/^POST \/replays\/([^/]+)\/cancel$/, 'replay', 'cancelled'],
  [/^POST \/replays\/([^/]+)\/resume$/, 'replay', 'resumed'],
  [/^POST \/deliveries\/([^/]+)\/replay$/, 'delivery', 'replayed'],
  [/^POST \/destinations\/([^/]+)\/test$/, 'destination', 'tested'],
  [/^POST \/(alerts)\/test$/, 'destination', 'tested'],
  [/^POST \/notices\/([^/]+)\/acknowledge$/, 'notice', 'acknowledged'],
  [/^POST \/session$/, 'session', 'created'],
  [/^DELETE \/session$/, 'session', 'deleted'],
];

/** What a request does, if it is one of these. Pure. @param path below /api/v1 */
export function actOf(method: string, path: string): Act | undefined {
  const request = `${method} ${path.replace(/\/$/, '')}`;
  for (const [pattern, kind, action] of ACTS) {
    const found = pattern.exec(request);
    if (found) return { kind, action, entry: found[1] };
  }
  return undefined;
}

/** A test that nothing was heard of was sent all the same. */
const NOT_HEARD_OF = 504;

export function auditActs({ history, log, now }: Pick<ControlDeps, 'history' | 'log' | 'now'>): RequestHandler {
  return (req, res, next) => {
    const act = actOf(req.method, req.path);
    if (act) {
      res.once('finish', () => {
        const by = res.locals.actor as Actor | undefined;
        if (!by || (res.statusCode >= 400 && res.statusCode !== NOT_HEARD_OF)) return;
        const { kind, action } = act;
        const entry = act.entry ?? res.get('location')?.split('/').at(-1) ?? by.id;
        // Acts have no versions: this one only tells them apart.
        const row = {
          kind,
          action,
          entry,
          by,
          name: entry,
          changes: [],
          version: randomInt(2 ** 31),
          at: now().getTime(),
        };
        history
          .ask((database) => recordAudit(database, [row]))
          .catch((error: unknown) => {
            log.warn({ kind, action, entry, by: by.id, reason: messageOf(error) }, 'audit.not_recorded');
          });
      });
    }
    next();
  };
}
