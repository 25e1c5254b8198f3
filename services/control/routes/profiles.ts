import { type RequestHandler, Router } from 'express';
import { methodNotAllowed } from '../../../shared/http/problem';
import { isMessageSource } from '../definition-entries';
import { membersQuery, sizesQuery } from '../definition-schema';
import { readPreview } from '../definitions';
import { type ControlDeps } from '../deps';
import { listSyncs, sizesOf } from '../history/syncs';
import { type Place } from '../profiles/member-pages';
import { decodeCursor, encodeCursor, pageParameters, parseQuery } from '../query';

/** What is asked of those who keep profiles: previews, members; and what is kept of syncs. */

type Kind = 'audience' | 'computed_trait';
const DAY_MS = 86_400_000;

/** /api/v1/audiences/preview and /api/v1/audiences/previews */
export function previewRoutes({ config, previews }: ControlDeps): Router {
  const router = Router();
  router
    .route('/preview')
    .post(async (req, res) => {
      const asked = readPreview(req.body, { sourceExists: (id) => isMessageSource(config, id) });
      const { condition, sources } = asked;
      const preview = await previews.start({ condition, ...(sources && { sources }) });
      res.status(201).location(`${req.baseUrl}/previews/${preview.id}`).json(preview);
    })
    .all(methodNotAllowed(['POST']));
  router
    .route('/previews/:id')
    .get((req, res) => {
      res.json(previews.get(req.params.id));
    })
    .delete((req, res) => {
      previews.end(req.params.id);
      res.status(204).end();
    })
    .all(methodNotAllowed(['GET', 'HEAD', 'DELETE']));
  return router;
}

/** The members of one definition. */
export function showMembers({ entries, members, profiles }: ControlDeps, kind: Kind): RequestHandler<{ id: string }> {
  return async (req, res) => {
    const { id: definition } = entries.get(kind, req.params.id).data;
    const { limit, after, user } = parseQuery(membersQuery, req.query);
    const view = ({ since, ...member }: { since: number }) => ({ ...member, since: new Date(since).toISOString() });
    if (user !== undefined) {
      const found = await members.find(definition, user);
      res.json({ data: found ? [view(found)] : [], next: null });
      return;
    }
    const asked = { definition, limit, from: placeOf(after), expected: profiles.membersOf(definition) };
    const page = await members.page(asked);
    res.json({ data: page.members.map(view), next: page.next ? nextOf(page.next) : null });
  };
}

/** /api/v1/audiences/{id}/syncs and /sizes, and those of computed traits */
export function pastRoutes({ entries, history, now }: ControlDeps, kind: Kind): Router {
  const router = Router();
  const read = methodNotAllowed(['GET', 'HEAD']);
  router
    .route('/:id/syncs')
    .get(async (req, res) => {
      const { id } = entries.get(kind, req.params.id).data;
      const { limit, after } = parseQuery(pageParameters, req.query);
      const page = { limit: limit + 1, before: decodeCursor(after)?.at };
      const found = await history.ask((database) => listSyncs(database, id, page));
      const rows = found.slice(0, limit);
      const last = rows.at(-1);
      res.json({
        data: rows.map(({ bucket: _, at, ...sync }) => ({ at: new Date(at).toISOString(), ...sync })),
        next: found.length > limit && last ? encodeCursor(last.bucket, id) : null,
      });
    })
    .all(read);
  router
    .route('/:id/sizes')
    .get(async (req, res) => {
      const { id } = entries.get(kind, req.params.id).data;
      const { from, to = now().getTime() } = parseQuery(sizesQuery, req.query);
      const span = { fromMs: from ?? to - DAY_MS, toMs: to };
      const sizes = await history.ask((database) => sizesOf(database, id, span));
      res.json({ data: sizes.map(({ at, members }) => ({ at: new Date(at).toISOString(), members })) });
    })
    .all(read);
  return router;
}

/** @throws Problem `invalid_fields` */
function placeOf(cursor: string | undefined): Place {
  const at = decodeCursor(cursor);
  if (!at) return { partition: 0 };
  return at.id === FIRST ? { partition: at.at } : { partition: at.at, after: at.id.slice(BEHIND.length) };
}

function nextOf({ partition, after }: Place): string {
  return encodeCursor(partition, after === undefined ? FIRST : BEHIND + after);
}

const FIRST = '-';
const BEHIND = '>';
