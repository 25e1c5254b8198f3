import { type Response } from 'express';
import { type Entry } from '../../../shared/config/types';
import { type Audience, type ComputedTrait } from '../../../shared/model/audience-definition';
import { type Json } from '../../../shared/model/message';
import { type Actor } from '../auth/identities';
import { changeDefinition, connectedTo, createDefinition, removeDefinition } from './definition-entries';
import {
  createAudience,
  createTrait,
  definitionView,
  type Made,
  type Making,
  patchAudience,
  patchTrait,
} from './model';
import { type ControlContext } from '../context';
import { type At } from '../config/config-entries';
import { type HandlersOf } from '../http/mount';
import { etag } from '../http/entry-patch';
import { page, type PageQuery } from '../http/paging';
import { pastHandlers, previewHandlers } from './preview-routes';
import { showMembers, uploadHandlers } from './member-routes';

/** The differences between the two kinds. */
interface Rules<T extends Audience | ComputedTrait> {
  kind: 'audience' | 'computed_trait';
  create: (body: unknown, making: Making) => Made<T>;
  patch: (before: T, connected: string[], patch: Json, making: Making) => Made<T>;
}

/** /api/v1/audiences */
export function audienceHandlers(deps: ControlContext): HandlersOf<'audiences'> {
  const { list, create, get, change, remove } = definitionHandlers<Audience>(deps, {
    kind: 'audience',
    create: createAudience,
    patch: patchAudience,
  });
  const { syncs, sizes } = pastHandlers(deps, 'audience');
  return {
    'GET /audiences': list,
    'POST /audiences': create,
    'GET /audiences/{id}': get,
    'PATCH /audiences/{id}': change,
    'DELETE /audiences/{id}': remove,
    'GET /audiences/{id}/members': showMembers(deps, 'audience'),
    'GET /audiences/{id}/syncs': syncs,
    'GET /audiences/{id}/sizes': sizes,
    ...uploadHandlers(deps),
    ...previewHandlers(deps),
  };
}

/** /api/v1/computed-traits */
export function computedTraitHandlers(deps: ControlContext): HandlersOf<'computed-traits'> {
  const { list, create, get, change, remove } = definitionHandlers<ComputedTrait>(deps, {
    kind: 'computed_trait',
    create: createTrait,
    patch: patchTrait,
  });
  const { syncs, sizes } = pastHandlers(deps, 'computed_trait');
  return {
    'GET /computed-traits': list,
    'POST /computed-traits': create,
    'GET /computed-traits/{id}': get,
    'PATCH /computed-traits/{id}': change,
    'DELETE /computed-traits/{id}': remove,
    'GET /computed-traits/{id}/members': showMembers(deps, 'computed_trait'),
    'GET /computed-traits/{id}/syncs': syncs,
    'GET /computed-traits/{id}/sizes': sizes,
  };
}

type Changing = At & { body: Json | undefined; res: Response };

function definitionHandlers<T extends Audience | ComputedTrait>(
  deps: ControlContext,
  { kind, create, patch }: Rules<T>,
) {
  const { entries, log } = deps;
  return {
    list: ({ query, res }: { query: PageQuery; res: Response }) => {
      const { data, next } = page(entries.list(kind), query);
      res.json({ data: data.map((entry) => view(deps, entry)), next });
    },
    create: async ({ body, by, path, res }: { body: Json | undefined; by: Actor; path: string; res: Response }) => {
      const entry = await createDefinition<T>(deps, kind, by, (making) => create(body, making));
      log.info({ [kind]: entry.data.id }, `${kind}.created`);
      res.status(201).location(`${path}/${entry.data.id}`);
      show(deps, res, entry);
    },
    get: ({ id, res }: { id: string; res: Response }) => show(deps, res, entries.get(kind, id)),
    change: async (call: Changing) => {
      const entry = await changeDefinition<T>(deps, kind, call, (before, connected, making) =>
        patch(before, connected, call.body ?? {}, making),
      );
      log.info({ [kind]: call.id, version: entry.version }, `${kind}.changed`);
      show(deps, call.res, entry);
    },
    remove: async (call: Changing) => {
      await removeDefinition(deps, kind, call);
      log.info({ [kind]: call.id }, `${kind}.deleted`);
      call.res.status(204).end();
    },
  };
}

function view({ config, profiles }: ControlContext, entry: Entry<Audience | ComputedTrait>) {
  const { id, revision, source } = entry.data;
  const { partitions: _, ...status } = profiles.of(id, revision);
  return { ...definitionView(entry, connectedTo(config, source)), status };
}

function show(deps: ControlContext, res: Response, entry: Entry<Audience | ComputedTrait>): void {
  res.set('ETag', etag(entry.version)).json(view(deps, entry));
}
