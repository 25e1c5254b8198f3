import { withDeadline } from '../../../shared/service/async';
import { newId } from '../config/config-entries';
import { type ControlContext } from '../context';
import { type HandlersOf } from '../http/mount';
import { readPage } from '../http/paging';
import { isActive, type Job, type JobResults, readReplay } from './job';
import { isFinal, jobView } from './job-view';
import { listJobs, resultsOf, saveResults } from './store';

/** /api/v1/replays */
export function replayHandlers({ replays, history, config, now }: ControlContext): HandlersOf<'replays'> {
  const results = (jobs: readonly Job[]) => readResults(history, jobs, now().getTime());
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
async function readResults(
  history: ControlContext['history'],
  jobs: readonly Job[],
  nowMs: number,
): Promise<Map<string, JobResults>> {
  // Control does not know what became of the jobs of older versions, and a cancellation has no results.
  const counted = jobs.filter(({ counted, action }) => counted && action !== 'cancel');
  const changing = counted.filter(({ results }) => !results);
  const ended = changing.filter((job) => !isActive(job) && job.sentUpTo);
  // Before the count: it then has all that these jobs sent, unless a later job sent it again.
  const isComplete = await hasRead(history, ended);
  const found = await history.ask((database) =>
    resultsOf(
      database,
      changing.map(({ id }) => id),
    ),
  );
  const all = new Map(
    counted.flatMap(({ id, sent, results }) => (results ? [[id, finalOf({ sent }, results)] as const] : [])),
  );
  for (const job of changing) {
    const { named, settled, cancelled, delivered, failedAgain } = found.get(job.id) ?? NOTHING;
    const missing = Math.max(0, job.sent - named);
    const isKnown = missing === 0 || (isComplete && ended.includes(job));
    const isOver = isFinal(job, isKnown ? settled + missing : settled, nowMs);
    const counts = { delivered, failedAgain };
    const shown = isKnown ? { ...counts, superseded: missing + cancelled } : isOver ? finalOf(job, counts) : counts;
    all.set(job.id, shown);
    if (isOver) await history.ask((database) => saveResults(database, job.id, shown));
  }
  return all;
}

/** Whatever has no result when the results change no more will have none. Older versions stored no number of these. */
function finalOf({ sent }: Pick<Job, 'sent'>, results: JobResults): JobResults {
  return { superseded: Math.max(0, sent - results.delivered - results.failedAgain), ...results };
}

/** A list of jobs waits for Kafka no longer than this. */
const KAFKA_WITHIN_MS = 3_000;
const NOTHING = { named: 0, settled: 0, delivered: 0, failedAgain: 0, cancelled: 0 };

async function hasRead(history: ControlContext['history'], jobs: readonly Job[]): Promise<boolean> {
  // Kafka or the database may be away.
  if (jobs.length === 0) return false;
  const read = history.hasRead(jobs.flatMap(({ sentUpTo }) => sentUpTo ?? []));
  return withDeadline(KAFKA_WITHIN_MS, read).catch(() => false);
}
