import { newId } from '../config/config-entries';
import { type ControlContext } from '../context';
import { type HandlersOf } from '../http/mount';
import { readPage } from '../http/paging';
import { type Database } from '../history/database';
import { type Job, type JobResults, readReplay } from './job';
import { isFinal, jobView } from './job-view';
import { listJobs, resultsOf, saveResults } from './store';

/** /api/v1/replays */
export function replayHandlers({ replays, history, config, now }: ControlContext): HandlersOf<'replays'> {
  const results = (jobs: readonly Job[]) => history.ask((database) => readResults(database, jobs, now().getTime()));
  const view = async (job: Job) => jobView(job, (await results([job])).get(job.id));
  return {
    'GET /replays': async ({ query }) => {
      const page = await readPage(query, {
        read: (page) => history.ask((database) => listJobs(database, page)),
        cursorOf: ({ createdAt, id }) => ({ at: createdAt, id }),
        view: (job) => job,
      });
      const found = await results(page.data);
      return { ...page, data: page.data.map((job) => jobView(job, found.get(job.id))) };
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

/** Returns the results of jobs, and stores those that change no more, so that each is counted while it changes only. */
async function readResults(database: Database, jobs: readonly Job[], nowMs: number): Promise<Map<string, JobResults>> {
  // Control does not know what became of the jobs of older versions, and a cancellation has no results.
  const counted = jobs.filter(({ counted, action }) => counted && action !== 'cancel');
  const changing = counted.filter(({ results }) => !results);
  const found = await resultsOf(
    database,
    changing.map(({ id }) => id),
  );
  const all = new Map(counted.flatMap(({ id, results }) => (results ? [[id, results] as const] : [])));
  for (const job of changing) {
    const { settled = 0, delivered = 0, failedAgain = 0 } = found.get(job.id) ?? {};
    all.set(job.id, { delivered, failedAgain });
    if (isFinal(job, settled, nowMs)) await saveResults(database, job.id, { delivered, failedAgain });
  }
  return all;
}
