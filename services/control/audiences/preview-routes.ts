import { type Response } from 'express';
import { isMessageSource } from './definition-entries';
import { decodeCursor, encodeCursor, type PageQuery } from '../http/paging';
import { readPreview } from './model';
import { type ControlContext } from '../context';
import { listSyncs, sizesOf } from './store';
import { type HandlersOf } from '../http/mount';
import { BASE } from '../http/paths';
import { type Query } from '../../../shared/api/operations';

/** Routes of previews, sync history and sizes. */

type Kind = 'audience' | 'computed_trait';
type Preview = 'POST /audiences/preview' | 'GET /audiences/previews/{id}' | 'DELETE /audiences/previews/{id}';
const DAY_MS = 86_400_000;

export function previewHandlers({ config, previews }: ControlContext): Pick<HandlersOf<'audiences'>, Preview> {
  return {
    'POST /audiences/preview': async ({ body, res }) => {
      const asked = readPreview(body, { sourceExists: (id) => isMessageSource(config, id) });
      const { condition, sources } = asked;
      const preview = await previews.start({ condition, ...(sources && { sources }) });
      res.status(201).location(`${BASE}/audiences/previews/${preview.id}`).json(preview);
    },
    'GET /audiences/previews/{id}': ({ id, res }) => void res.json(previews.get(id)),
    'DELETE /audiences/previews/{id}': ({ id, res }) => {
      previews.end(id);
      res.status(204).end();
    },
  };
}

/** Lists `/syncs` and `/sizes` of audiences and of computed traits. */
export function pastHandlers({ entries, history, now }: ControlContext, kind: Kind) {
  return {
    syncs: async ({ id: asked, query: { limit, after }, res }: { id: string; query: PageQuery; res: Response }) => {
      const { id } = entries.get(kind, asked).data;
      const page = { limit: limit + 1, before: decodeCursor(after)?.at };
      const found = await history.ask((database) => listSyncs(database, id, page));
      const rows = found.slice(0, limit);
      const last = rows.at(-1);
      res.json({
        data: rows.map(({ bucket: _, at, ...sync }) => ({ at: new Date(at).toISOString(), ...sync })),
        next: found.length > limit && last ? encodeCursor(last.bucket, id) : null,
      });
    },
    sizes: async ({
      id: asked,
      query,
      res,
    }: {
      id: string;
      query: Query<'GET /audiences/{id}/sizes'>;
      res: Response;
    }) => {
      const { id } = entries.get(kind, asked).data;
      const { from, to = now().getTime() } = query;
      const span = { fromMs: from ?? to - DAY_MS, toMs: to };
      const sizes = await history.ask((database) => sizesOf(database, id, span));
      res.json({ data: sizes.map(({ at, members }) => ({ at: new Date(at).toISOString(), members })) });
    },
  };
}
