import { type Query } from '../../../shared/api/operations';
import { defined } from '../../../shared/collections/defined';
import { type Kinds } from '../../../shared/model/config';
import { type Json } from '../../../shared/model/message';
import { type Actor } from '../http/identity';
import { type At, type ConfigEntries } from '../config/config-entries';
import { type ConfigView, type Entry } from '../../../shared/config/types';
import { isoTime } from '../../../shared/model/time';
import { type Log } from '../../../shared/telemetry/log';
import { type ExpressionWork } from '../expressions/work';
import { type Kafka } from '../../../shared/kafka/port';
import { type ProfileStatus } from './status';
import { type Previews } from './previews';
import { compileInTurn } from '../expressions/request-expressions';
import { type HandlersOf } from '../http/handlers';
import { pageOfEntries, type PageQuery, readPage } from '../http/paging';
import {
  changeDefinition,
  connectedTo,
  createDefinition,
  isMessageSource,
  removeDefinition,
} from './definition-entries';
import { type MemberDeps, showMembers, type UploadDeps, uploadHandlers } from './member-routes';
import {
  audienceView,
  createAudience,
  createTrait,
  type DefinitionKind,
  type Made,
  type Making,
  patchAudience,
  patchTrait,
  readPreview,
  traitView,
} from './model';
import { listSyncs, sizesOf } from '../history/syncs';
import { type Asking } from '../history/database';

const DAY_MS = 86_400_000;

/** The differences between the two kinds. */
interface Rules<K extends DefinitionKind, V> {
  kind: K;
  create: (body: unknown, making: Making) => Made<Kinds[K]>;
  patch: (before: Kinds[K], connected: string[], patch: Json, making: Making) => Made<Kinds[K]>;
  /** @param connected ids of the destinations connected to its source */
  view: (entry: Entry<Kinds[K]>, connected: string[]) => V;
}

export interface DefinitionDeps extends MemberDeps {
  config: ConfigView;
  entries: ConfigEntries;
  /** bounds the expressions of requests */
  work: Pick<ExpressionWork, 'inTurn'>;
  kafka: Pick<Kafka, 'ranges'>;
  history: Asking;
  profiles: Pick<ProfileStatus, 'of' | 'membersOf'>;
  now: () => Date;
  log: Log;
}

export type AudienceDeps = DefinitionDeps & UploadDeps & PreviewDeps;

interface PreviewDeps {
  config: Pick<ConfigView, 'source'>;
  /** bounds the expressions of requests */
  work: Pick<ExpressionWork, 'inTurn'>;
  /** evaluated by the audiences service */
  previews: Pick<Previews, 'start' | 'get' | 'end'>;
}

export function audienceHandlers(deps: AudienceDeps): HandlersOf<'audiences'> {
  const { list, create, get, change, remove, members, syncs, sizes } = definitionHandlers(deps, {
    kind: 'audience',
    create: createAudience,
    patch: patchAudience,
    view: audienceView,
  });
  return {
    'GET /audiences': list,
    'POST /audiences': create,
    'GET /audiences/{id}': get,
    'PATCH /audiences/{id}': change,
    'DELETE /audiences/{id}': remove,
    'GET /audiences/{id}/members': members,
    'GET /audiences/{id}/syncs': syncs,
    'GET /audiences/{id}/sizes': sizes,
    ...uploadHandlers(deps),
    ...previewHandlers(deps),
  };
}

export function computedTraitHandlers(deps: DefinitionDeps): HandlersOf<'computed-traits'> {
  const { list, create, get, change, remove, members, syncs, sizes } = definitionHandlers(deps, {
    kind: 'computed_trait',
    create: createTrait,
    patch: patchTrait,
    view: traitView,
  });
  return {
    'GET /computed-traits': list,
    'POST /computed-traits': create,
    'GET /computed-traits/{id}': get,
    'PATCH /computed-traits/{id}': change,
    'DELETE /computed-traits/{id}': remove,
    'GET /computed-traits/{id}/members': members,
    'GET /computed-traits/{id}/syncs': syncs,
    'GET /computed-traits/{id}/sizes': sizes,
  };
}

type Changing = At & { body: Json | undefined };

function definitionHandlers<K extends DefinitionKind, V extends object>(
  deps: DefinitionDeps,
  { kind, create, patch, view }: Rules<K, V>,
) {
  const { config, entries, profiles, log } = deps;
  const shown = (entry: Entry<Kinds[K]>) => {
    const { id, source } = entry.data;
    const { partitions: _, ...status } = profiles.of(id, entry.data);
    return { ...view(entry, connectedTo(config, source)), status };
  };
  return {
    list: ({ query }: { query: PageQuery }) => pageOfEntries(entries.list(kind), query, shown),
    create: async ({ body, by }: { body: Json | undefined; by: Actor }) => {
      const expressions = await compileInTurn(deps, by, [body]);
      const entry = await createDefinition<Kinds[K]>(deps, kind, by, (making) =>
        create(body, { ...making, expressions }),
      );
      log.info({ [kind]: entry.data.id }, `${kind}.created`);
      return shown(entry);
    },
    get: ({ id }: { id: string }) => shown(entries.get(kind, id)),
    change: async (call: Changing) => {
      const expressions = await compileInTurn(deps, call.by, [call.body]);
      const entry = await changeDefinition<Kinds[K]>(
        deps,
        kind,
        call,
        (before, connected, making) =>
          patch(before, connected, call.body ?? {}, { ...making, expressions }),
      );
      log.info({ [kind]: call.id, version: entry.version }, `${kind}.changed`);
      return shown(entry);
    },
    remove: async (call: Changing) => {
      await removeDefinition(deps, kind, call);
      log.info({ [kind]: call.id }, `${kind}.deleted`);
      return undefined;
    },
    members: showMembers(deps, kind),
    ...pastHandlers(deps, kind),
  };
}

type Preview =
  'POST /audiences/preview' | 'GET /audiences/previews/{id}' | 'DELETE /audiences/previews/{id}';

function previewHandlers(deps: PreviewDeps): Pick<HandlersOf<'audiences'>, Preview> {
  const { config, previews } = deps;
  return {
    'POST /audiences/preview': async ({ body, by }) => {
      const expressions = await compileInTurn(deps, by, [body]);
      const sourceExists = (id: string) => isMessageSource(config, id);
      const { condition, sources } = readPreview(body, { sourceExists, expressions });
      const asked = { condition, ...defined({ sources }) };
      return previews.start(asked, by.id);
    },
    'GET /audiences/previews/{id}': ({ id }) => previews.get(id),
    'DELETE /audiences/previews/{id}': ({ id }) => {
      previews.end(id);
      return undefined;
    },
  };
}

/** Lists `/syncs` and `/sizes` of audiences and of computed traits. */
function pastHandlers({ entries, history, now }: DefinitionDeps, kind: DefinitionKind) {
  return {
    syncs: ({ id: asked, query }: { id: string; query: PageQuery }) => {
      const { id } = entries.get(kind, asked).data;
      return readPage(query, {
        read: (page) => history.ask((database) => listSyncs(database, id, page)),
        cursorOf: ({ bucket }) => ({ at: bucket, id }),
        view: ({ bucket: _, at, ...sync }) => ({ at: isoTime(at), ...sync }),
      });
    },
    sizes: async ({
      id: asked,
      query,
    }: {
      id: string;
      query: Query<'GET /audiences/{id}/sizes'>;
    }) => {
      const { id } = entries.get(kind, asked).data;
      const { from, to = now().getTime() } = query;
      const span = { fromMs: from ?? to - DAY_MS, toMs: to };
      const sizes = await history.ask((database) => sizesOf(database, id, span));
      return {
        data: sizes.map(({ at, members }) => ({ at: isoTime(at), members })),
      };
    },
  };
}
