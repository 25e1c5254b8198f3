import { type ControlContext } from '../context';
import { listJobs } from './store';
import { newId } from '../config/ids';
import { type HandlersOf } from '../http/mount';
import { decodeCursor, encodeCursor } from '../http/paging';
import { jobView } from './job';
import { readReplay } from './scope';

/** /api/v1/replays */
export function replayHandlers({ replays, history, config, now }: ControlContext): HandlersOf<'replays'> {
  return {
    'GET /replays': async ({ query: { limit, after }, res }) => {
      const page = { limit: limit + 1, after: decodeCursor(after) };
      const found = await history.ask((database) => listJobs(database, page));
      const jobs = found.slice(0, limit);
      const last = jobs.at(-1);
      const next = found.length > limit && last ? encodeCursor(last.createdAt, last.id) : null;
      res.json({ data: jobs.map(jobView), next });
    },
    'POST /replays': async ({ body, path, res }) => {
      const at = now();
      const job = await replays.start(readReplay(body, config, at), newId('rpl', at));
      res.status(202).location(`${path}/${job.id}`).json(jobView(job));
    },
    'GET /replays/{id}': async ({ id, res }) => void res.json(jobView(await replays.get(id))),
    'POST /replays/{id}/cancel': async ({ id, res }) => void res.json(jobView(await replays.cancel(id))),
    'POST /replays/{id}/resume': async ({ id, res }) => void res.json(jobView(await replays.resume(id))),
  };
}
