import { type Query, type SourceRow } from '../../../shared/api/operations';
import { isoTimeOrNull } from '../../../shared/model/time';
import { withTimeout } from '../../../shared/runtime/async';
import { decryptWriteKey, encryptWriteKey } from '../../../shared/config/encryption';
import { type Entry } from '../../../shared/config/types';
import { type Source, type WriteKey } from '../../../shared/model/config';
import { seesSecrets } from '../auth/authenticate';
import { type Actor } from '../http/identity';
import { type ConfigEntries, newId, newWriteKey } from '../config/config-entries';
import { type Log } from '../../../shared/telemetry/log';
import { type Encryptor } from '../../../shared/config/encryption';
import { type Events } from '../debugger/events';
import { type HandlersOf } from '../http/handlers';
import { isNamed, pageOfEntries, pageOfSorted } from '../http/paging';
import { Problem } from '../http/problem';
import { createSource, eventsView, patchSource, rotateKey, sourceView } from './model';
import { type Reader } from '../reading/reader';
import { callsOf, listEventNames } from './store';
import { type Asking } from '../history/database';

const NEWEST_WITHIN_MS = 1_000;

type Activity = NonNullable<SourceRow['activity']>;

export interface SourceDeps {
  entries: ConfigEntries;
  history: Asking;
  /** the last calls */
  events: Pick<Events, 'ring'>;
  encryptor: Encryptor;
  /** counts the names of events */
  eventNames: Pick<Reader<unknown>, 'poll'>;
  now: () => Date;
  log: Log;
}

async function listSources<V extends { id: string }>(
  deps: SourceDeps,
  query: Query<'GET /sources'>,
  view: (entry: Entry<Source>) => V,
) {
  const page = await pageOfSources(deps, query, view);
  const ids = page.data.map(({ id }) => id);
  const activity = query.activity === true ? await activityOf(deps, ids) : undefined;
  if (!activity) return page;
  return {
    ...page,
    data: page.data.map((source) => ({ ...source, activity: activity(source.id) })),
  };
}

async function pageOfSources<V>(
  { entries, history }: SourceDeps,
  query: Query<'GET /sources'>,
  view: (entry: Entry<Source>) => V,
) {
  const { state, sort } = query;
  const found = entries.list('source');
  const isShown = ({ data }: Entry<Source>) =>
    isNamed(data, query) && (state === undefined || data.enabled === (state === 'enabled'));
  if (sort === undefined) return pageOfEntries(found, query, view, isShown);
  const shown = found.filter(isShown);
  const calls = sort.endsWith('lastCall')
    ? await history.ask((database) =>
        callsOf(
          database,
          shown.map(({ data }) => data.id),
        ),
      )
    : undefined;
  const valueOf = ({ data }: Entry<Source>) =>
    calls ? (calls.get(data.id)?.lastAt ?? 0) : data.name;
  return pageOfSorted(shown, { ...query, sort }, { valueOf, view });
}

/**
 * Reads what some sources send, and to how many destinations. @returns undefined while the history
 * is away: the list does not need it
 */
async function activityOf(
  { entries, events, history }: SourceDeps,
  ids: readonly string[],
): Promise<((source: string) => Activity) | undefined> {
  const calls = await history
    .ask((database) => callsOf(database, ids))
    .catch((error: unknown) => {
      if (error instanceof Problem) return undefined;
      throw error;
    });
  if (!calls) return undefined;
  const connected = new Map<string, number>();
  for (const { data } of entries.list('destination')) {
    for (const source of data.sources) connected.set(source, (connected.get(source) ?? 0) + 1);
  }
  return (source) => {
    const { count = 0, lastAt } = calls.get(source) ?? {};
    let accepted = 0;
    let rejected = 0;
    const last = events.ring.newestFirst([source]);
    for (const event of last) {
      if (event.accepted) accepted++;
      else rejected += event.calls;
    }
    return {
      calls: count,
      lastCallAt: isoTimeOrNull(lastAt),
      recent: {
        accepted,
        rejected,
        since: isoTimeOrNull(last.at(-1)?.atMs),
      },
      destinations: connected.get(source) ?? 0,
    };
  };
}

export function sourceHandlers(deps: SourceDeps): HandlersOf<'sources'> {
  const { entries, history, encryptor, eventNames, now, log } = deps;
  const openKey = (key: WriteKey, sourceId: string) => decryptWriteKey(key, sourceId, encryptor);
  const view = (by: Actor, entry: Entry<Source>) =>
    sourceView(entry, now(), seesSecrets(by) ? openKey : undefined);
  return {
    'GET /sources': ({ query, by }) => listSources(deps, query, (entry) => view(by, entry)),
    'POST /sources': async ({ body, by }) => {
      const id = newId('src', now());
      const made = { id, key: encryptWriteKey(newWriteKey(), id, encryptor), now: now() };
      const entry = await entries.create('source', by, () => createSource(body, made));
      log.info({ source: id }, 'source.created');
      return view(by, entry);
    },
    'GET /sources/{id}': ({ id, by }) => view(by, entries.get('source', id)),
    'PATCH /sources/{id}': async (call) => {
      requireOwn(entries.get('source', call.id).data);
      const entry = await entries.change('source', call, (source) =>
        patchSource(source, call.body ?? {}, now()),
      );
      log.info({ source: call.id, version: entry.version }, 'source.changed');
      return view(call.by, entry);
    },
    'DELETE /sources/{id}': async (call) => {
      requireOwn(entries.get('source', call.id).data);
      await entries.remove('source', call);
      log.info({ source: call.id }, 'source.deleted');
    },
    'GET /sources/{id}/events': async ({ id }) => {
      const { data } = entries.get('source', id);
      // Includes the most recent counts, unless they are many.
      await withTimeout(NEWEST_WITHIN_MS, eventNames.poll()).catch(() => undefined);
      return {
        data: eventsView(data, await history.ask((database) => listEventNames(database, data.id))),
      };
    },
    'POST /sources/{id}/rotate-key': async (call) => {
      const made = { key: encryptWriteKey(newWriteKey(), call.id, encryptor), now: now() };
      requireOwn(entries.get('source', call.id).data);
      const entry = await entries.change('source', call, (source) =>
        rotateKey(source, call.body, made),
      );
      log.info({ source: call.id }, 'source.key_rotated');
      return view(call.by, entry);
    },
  };
}

/**
 * Rejects the source of an audience or a computed trait, which is managed with that and accepts no
 * calls.
 * @throws Problem `conflict`
 */
function requireOwn({ of }: Source): void {
  if (of !== undefined) {
    throw new Problem(
      'conflict',
      `This source sends the updates of ${of}. Change or delete that instead`,
    );
  }
}
