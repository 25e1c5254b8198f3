import { newTraceparent } from '../../../shared/telemetry/trace';
import { newId } from '../config/config-entries';
import { type ConfigView } from '../../../shared/config/types';
import { type Log } from '../../../shared/telemetry/log';
import { type BatchProducer, type OutRecord } from '../../../shared/kafka/port';
import { type History } from '../history/history';
import { type Events } from '../debugger/events';
import { type HandlersOf } from '../http/handlers';
import { readPage } from '../http/paging';
import { unknownId } from '../http/problem';
import {
  deleteMessages,
  deletionListView,
  deletionRecords,
  deletionView,
  readDeletion,
} from './model';
import { type Deletion, getDeletion, listDeletions } from '../history/deletions';

/** Records in one append, since the producer's buffer is limited. */
const CHUNK = 2_000;
/**
 * A deletion concerns the calls that ingest accepted before the answer, so its time must be chosen
 * before it is written. Writing takes at least this time, and longer with many records, ms.
 */
const LEAST_MS = 200;
const PER_RECORD_MS = 0.1;
/** A database that takes longer holds up the answer, but not the deletion. */
const MOST_MS = 2_000;

export interface DeletionDeps {
  config: ConfigView;
  history: Pick<History, 'ask' | 'forget'>;
  events: Pick<Events, 'ring'>;
  producer: Pick<BatchProducer, 'send'>;
  now: () => Date;
  log: Log;
}

export function deletionHandlers(deps: DeletionDeps): HandlersOf<'deletions'> {
  const { history } = deps;
  return {
    'GET /deletions': ({ query }) =>
      readPage(query, {
        read: (page) => history.ask((database) => listDeletions(database, page)),
        cursorOf: ({ at, id }) => ({ at, id }),
        view: deletionListView,
      }),
    'POST /deletions': async ({ body, res }) => {
      // To remove the rows of a user may take longer than a connection may be silent.
      res.setTimeout(0);
      return deletionView(await deleteUsers(deps, body));
    },
    'GET /deletions/{id}': async ({ id }) => {
      const found = await history.ask((database) => getDeletion(database, id));
      if (!found) throw unknownId('deletion', id);
      return deletionView(found);
    },
  };
}

async function deleteUsers(deps: DeletionDeps, body: unknown): Promise<Deletion> {
  const { config, history, events, log } = deps;
  const wanted = readDeletion(body, config);
  // Checks the database before anything is sent, so that no deletion is left half done.
  await history.ask(({ query }) => query('select 1'));
  const id = newId('del', deps.now());
  const count = wanted.users.length + wanted.anonymous.length;
  const messages = count * wanted.affected.length;
  const write = async (takesMs: number) => {
    const at = Math.round(deps.now().getTime() + takesMs);
    const deletion: Deletion = { ...wanted, id, at, messages };
    await append(deps, deletionRecords(wanted, at));
    const rows = await history.forget(deletion);
    events.ring.purge();
    // A clock that was set back meanwhile must not hold up the answer.
    return { deletion, rows, leftMs: Math.min(at - deps.now().getTime(), takesMs) };
  };
  const plannedMs = LEAST_MS + PER_RECORD_MS * count;
  let written = await write(plannedMs);
  const tookMs = plannedMs - written.leftMs;
  if (written.leftMs < 0 && 2 * tookMs < MOST_MS) {
    // A later time replaces this one.
    const again = await write(2 * tookMs);
    written = { ...again, rows: written.rows + again.rows };
  }
  const { deletion, rows, leftMs } = written;
  // Delivery waits from this time on before it sends a `delete`: it is after Kafka has the
  // deletion.
  const atMs = deletion.at + Math.max(0, -leftMs);
  await append(deps, deleteMessages(wanted, { ...deletion, atMs, traceparent: newTraceparent }));
  await new Promise((resolve) =>
    setTimeout(resolve, Math.min(leftMs, deletion.at - deps.now().getTime())),
  );
  // The log must not contain the ids of deleted users.
  log.info({ deletion: id, users: count, messages, rows }, 'users.deleted');
  return deletion;
}

async function append({ producer }: DeletionDeps, records: OutRecord[]): Promise<void> {
  for (let i = 0; i < records.length; i += CHUNK) await producer.send(records.slice(i, i + CHUNK));
}
