import { newId } from '../config/config-entries';
import { type ControlContext } from '../context';
import { type HandlersOf } from '../http/mount';
import { readPage } from '../http/paging';
import { jobView, readReplay } from './job';
import { listJobs } from './store';

/** /api/v1/replays */
export function replayHandlers({ replays, history, config, now }: ControlContext): HandlersOf<'replays'> {
  return {
    'GET /replays': ({ query }) =>
      readPage(query, {
        read: (page) => history.ask((database) => listJobs(database, page)),
        cursorOf: ({ createdAt, id }) => ({ at: createdAt, id }),
        view: jobView,
      }),
    'POST /replays': async ({ body }) => {
      const at = now();
      return jobView(await replays.start(readReplay(body, config, at), newId('rpl', at)));
    },
    'GET /replays/{id}': async ({ id }) => jobView(await replays.get(id)),
    'POST /replays/{id}/cancel': async ({ id }) => jobView(await replays.cancel(id)),
    'POST /replays/{id}/resume': async ({ id }) => jobView(await replays.resume(id)),
  };
}
