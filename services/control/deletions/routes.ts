import { newTraceparent } from '../../../shared/telemetry/trace';
import { newId } from '../config/config-entries';
import { type ConfigView } from '../../../shared/config/types';
import { type Log } from '../../../shared/telemetry/log';
import { type BatchProducer } from '../../../shared/kafka/port';
import { type History } from '../history/history';
import { type Events } from '../debugger/events';
import { type HandlersOf } from '../http/handlers';
import { readPage } from '../http/paging';
import { Problem } from '../http/problem';
import { deleteRecords, deletionListView, deletionView, readDeletion } from './model';
import { type Deletion, getDeletion, listDeletions } from '../history/deletions';

/** Messages in one append, since the producer's buffer is limited. */
const CHUNK = 2_000;

/** What the routes of deletions need. */
export interface DeletionDeps {
  config: ConfigView;
  history: Pick<History, 'ask' | 'forget'>;
  events: Pick<Events, 'ring'>;
  producer: Pick<BatchProducer, 'send'>;
  now: () => Date;
  log: Log;
}

/** /api/v1/deletions */
export function deletionHandlers(deps: DeletionDeps): HandlersOf<'deletions'> {
  const { history } = deps;
  return {
    'GET /deletions': ({ query }) =>
      readPage(query, {
        read: (page) => history.ask((database) => listDeletions(database, page)),
        cursorOf: ({ at, id }) => ({ at, id }),
        view: deletionListView,
      }),
    'POST /deletions': async ({ body }) => deletionView(await deleteUsers(deps, body)),
    'GET /deletions/{id}': async ({ id }) => {
      const found = await history.ask((database) => getDeletion(database, id));
      if (!found) {
        throw new Problem('not_found', `Unknown deletion ${JSON.stringify(id.slice(0, 100))}`);
      }
      return deletionView(found);
    },
  };
}

async function deleteUsers(deps: DeletionDeps, body: unknown): Promise<Deletion> {
  const { config, history, events, producer, log } = deps;
  const wanted = readDeletion(body, config);
  // Checks the database before anything is sent, so that no deletion is left half done.
  await history.ask(({ query }) => query('select 1'));
  const now = deps.now();
  const id = newId('del', now);
  const records = deleteRecords(wanted, { id, now, traceparent: newTraceparent });
  for (let i = 0; i < records.length; i += CHUNK) await producer.send(records.slice(i, i + CHUNK));
  const deletion: Deletion = { ...wanted, id, at: now.getTime(), messages: records.length };
  const rows = await history.forget(deletion);
  events.ring.purge();
  // The log must not contain the ids of deleted users.
  log.info(
    {
      deletion: id,
      users: wanted.users.length + wanted.anonymous.length,
      messages: records.length,
      rows,
    },
    'users.deleted',
  );
  return deletion;
}
