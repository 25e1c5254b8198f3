import { newId } from '../config/config-entries';
import { type ControlContext } from '../context';
import { type HandlersOf } from '../http/mount';
import { readPage } from '../http/paging';
import { type Job, type JobResults, jobView, readReplay } from './job';
import { listJobs, resultsOf } from './store';

/** /api/v1/replays */
export function replayHandlers({ replays, history, config, now }: ControlContext): HandlersOf<'replays'> {
  const results = (jobs: readonly Job[]) => history.ask((database) => resultsOf(database, jobs.flatMap(countedId)));
  const view = async (job: Job) => jobView(job, resultOf(job, await results([job])));
  return {
    'GET /replays': async ({ query }) => {
      const page = await readPage(query, {
        read: (page) => history.ask((database) => listJobs(database, page)),
        cursorOf: ({ createdAt, id }) => ({ at: createdAt, id }),
        view: (job) => job,
      });
      const found = await results(page.data);
      return { ...page, data: page.data.map((job) => jobView(job, resultOf(job, found))) };
    },
    'POST /replays': async ({ body }) => {
      const at = now();
      return view(await replays.start(readReplay(body, config, at), newId('rpl', at)));
    },
    'GET /replays/{id}': async ({ id }) => view(await replays.get(id)),
    'POST /replays/{id}/cancel': async ({ id }) => view(await replays.cancel(id)),
    'POST /replays/{id}/resume': async ({ id }) => view(await replays.resume(id)),
  };
}

/** Returns the id of a job whose results the history counts. */
function countedId({ id, action, counted }: Job): string[] {
  return counted && action !== 'cancel' ? [id] : [];
}

function resultOf(job: Job, found: ReadonlyMap<string, JobResults>): JobResults | undefined {
  return countedId(job).length > 0 ? (found.get(job.id) ?? { delivered: 0, failedAgain: 0 }) : undefined;
}
