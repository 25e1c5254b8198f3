import { defined } from '../../../shared/collections/defined';
import { withDeadline } from '../../../shared/runtime/async';
import { newId } from '../config/config-entries';
import { type ConfigView } from '../../../shared/config/types';
import { type History } from '../history/history';
import { type HandlersOf } from '../http/handlers';
import { readPage } from '../http/paging';
import { isActive, type Job, type JobResults, readReplay } from './job';
import { isFinal, jobView } from './job-view';
import { type Replays } from './runner';
import { listJobs, resultsOf, saveResults } from './store';

export interface ReplayDeps {
  replays: Pick<Replays, 'start' | 'get' | 'cancel' | 'resume'>;
  history: Pick<History, 'ask' | 'hasRead'>;
  config: ConfigView;
  now: () => Date;
}

export function replayHandlers({
  replays,
  history,
  config,
  now,
}: ReplayDeps): HandlersOf<'replays'> {
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

/**
 * Returns the results of jobs. It stores the final ones, so that no job is counted longer than
 * necessary.
 */
async function readResults(
  history: ReplayDeps['history'],
  jobs: readonly Job[],
  nowMs: number,
): Promise<Map<string, JobResults>> {
  // A cancellation has no results.
  const counted = jobs.filter(({ action }) => action !== 'cancel');
  const changing = counted.filter(({ results }) => !results);
  const ended = changing.filter((job) => !isActive(job) && job.sentUpTo);
  // Before the count: it then has all that these jobs sent, unless a later job sent it again.
  const isRead = await hasRead(history, ended);
  const ids = changing.map(({ id }) => id);
  const found = await history.ask((database) => resultsOf(database, ids));
  const all = new Map<string, JobResults>();
  for (const job of counted) if (job.results) all.set(job.id, finalOf(job, job.results));
  for (const job of changing) {
    const { results, isOver } = judge(
      job,
      found.get(job.id) ?? NOTHING,
      isRead && ended.includes(job),
      nowMs,
    );
    all.set(job.id, results);
    if (isOver) await history.ask((database) => saveResults(database, job.id, results));
  }
  return all;
}

const NOTHING = {
  named: 0,
  settled: 0,
  delivered: 0,
  failedAgain: 0,
  attempted: 0,
  held: 0,
  cancelled: 0,
};

/**
 * Returns the results of a job, and whether they are final.
 * @param isRead the history has read everything that the job sent
 */
function judge(job: Job, counts: typeof NOTHING, isRead: boolean, nowMs: number) {
  const { named, settled, delivered, failedAgain, attempted, held, cancelled } = counts;
  const missing = Math.max(0, job.sent - named);
  const isKnown = isRead || missing === 0;
  const results = {
    delivered,
    failedAgain,
    attempted,
    held,
    ...defined({ superseded: isKnown ? missing + cancelled : undefined }),
  };
  const isOver = isFinal(job, isKnown ? settled + missing : settled, nowMs);
  return { results: isOver ? finalOf(job, results) : results, isOver };
}

/** Counts the rest as superseded where that is unknown: final results change no more. */
function finalOf({ sent }: Job, results: JobResults): JobResults {
  return { superseded: Math.max(0, sent - results.delivered - results.failedAgain), ...results };
}

/** Kafka must answer within this time: a list of jobs waits for it. */
const KAFKA_WITHIN_MS = 3_000;

async function hasRead(history: ReplayDeps['history'], jobs: readonly Job[]): Promise<boolean> {
  if (jobs.length === 0) return false;
  const read = history.hasRead(jobs.flatMap(({ sentUpTo }) => sentUpTo ?? []));
  // Kafka or the database may be away.
  return withDeadline(KAFKA_WITHIN_MS, read).catch(() => false);
}
