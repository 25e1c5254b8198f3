import { type Kafka } from '../../../shared/kafka/port';
import { WEBHOOKS } from '../../../shared/kafka/topics';
import { type DeliveryRow } from '../history/delivery-row';
import { type History } from '../history/history';
import { type Filter } from '../history/filter';
import { readPositions } from '../reading/positions';
import { SEARCH } from './body-index';
import { type Cursor } from '../history/newest';
import { fillDeliveryPage } from '../history/queries';
import { find, needlesOf, unpack } from './pack-texts';
import {
  type Coverage,
  coverageOf,
  listChunks,
  markOf,
  readChunks,
  type StoredChunk,
} from './store';

/** Searches the bodies of the last days, newest first, within a time limit. */

/** No longer than people wait. A next page continues where the search stopped. */
const BUDGET_MS = 4_000;
const AT_ONCE = 4;
/** The reader polls every five seconds. */
const FRESH_MS = 30_000;

interface Searching {
  kafka: Pick<Kafka, 'ranges'>;
  history: Pick<History, 'ask' | 'forgotten' | 'learnDeletions'>;
  retentionMs: number;
  nowMs: number;
  /** ms, by a clock that never jumps */
  steadyMs: () => number;
}

export interface Page {
  limit: number;
  after: Cursor | undefined;
}

export interface Searched {
  rows: DeliveryRow[];
  /** deliveries accepted at this time or earlier were not searched; undefined: all were */
  stoppedAt: number | undefined;
  searched: Coverage & { complete: boolean };
}

/** @throws Problem `unavailable` */
export async function searchDeliveries(
  context: Searching,
  { query, filter }: { query: string; filter: Filter },
  page: Page,
): Promise<Searched> {
  await context.history.learnDeletions();
  const { nowMs, retentionMs } = context;
  const coverage = await readCoverage(context);
  const { rows, stoppedAt } = await scan(context, { needles: needlesOf(query), filter }, page);
  const since = Math.max(filter.since ?? 0, nowMs - retentionMs);
  const until = Math.min(filter.until ?? nowMs, nowMs);
  const from = Math.max(coverage.from, filter.since ?? 0, (stoppedAt ?? 0) + 1);
  const complete =
    stoppedAt === undefined && coverage.from <= since + FRESH_MS && coverage.to >= until - FRESH_MS;
  const to = Math.min(coverage.to, until);
  return { rows, stoppedAt, searched: { from: Math.min(from, to), to, complete } };
}

async function readCoverage({ kafka, history, nowMs, retentionMs }: Searching): Promise<Coverage> {
  const ends = await kafka.ranges(WEBHOOKS).catch(() => undefined);
  const stored = await history.ask(async (database) => ({
    positions: [...(await readPositions(database, SEARCH)).values()],
    droppedTo: await markOf(database, 'search_from'),
  }));
  return coverageOf(stored, ends, { nowMs, retentionMs });
}

async function scan(
  { history, retentionMs, nowMs, steadyMs }: Searching,
  { needles, filter }: { needles: readonly Buffer[]; filter: Filter },
  { limit, after }: Page,
): Promise<{ rows: DeliveryRow[]; stoppedAt: number | undefined }> {
  const begunAt = steadyMs();
  const since = Math.max(filter.since ?? 0, nowMs - retentionMs);
  const until = Math.min(
    after?.at ?? Infinity,
    (filter.until ?? Infinity) - 1,
    Number.MAX_SAFE_INTEGER,
  );
  const rows: DeliveryRow[] = [];
  const searched = new Set<number>();
  const listed = async () => {
    const all = await history.ask((database) => listChunks(database, { since, until }));
    return all.filter(({ seq }) => !searched.has(seq));
  };
  for (let left = await listed(); left.length > 0;) {
    const next = left.splice(0, AT_ONCE);
    const chunks = await history.ask((database) => readChunks(database, next));
    if (chunks.length < next.length) {
      // Texts of chunks that are gone may be in others, which have another place in the list.
      left = await listed();
      continue;
    }
    for (const chunk of chunks) {
      // No later chunk has anything newer.
      const certain = newestFirst(rows.filter(({ acceptedAt }) => acceptedAt > chunk.to));
      if (certain.length >= limit) return { rows: certain.slice(0, limit), stoppedAt: undefined };
      if (searched.size > 0 && steadyMs() - begunAt > BUDGET_MS) {
        return { rows: certain, stoppedAt: chunk.to };
      }
      searched.add(chunk.seq);
      rows.push(...(await searchChunk(chunk)));
    }
  }
  return { rows: newestFirst(rows).slice(0, limit), stoppedAt: undefined };

  async function searchChunk(chunk: StoredChunk): Promise<readonly DeliveryRow[]> {
    const ids = await matches(chunk, needles, history);
    if (ids.length === 0) return [];
    const within = {
      ...filter,
      ids,
      since: Math.max(since, chunk.from),
      until: Math.min(until, chunk.to) + 1,
    };
    return (await fillDeliveryPage(history, within, { limit, after }, () => true)).rows;
  }
}

async function matches(
  { data }: StoredChunk,
  needles: readonly Buffer[],
  { forgotten }: Searching['history'],
): Promise<string[]> {
  const found = find(await unpack(data), needles);
  return found
    .filter(({ user, anonymous, source, acceptedAt }) => {
      return !forgotten.hides(
        () => [user, anonymous].filter((id) => id !== null),
        source,
        acceptedAt,
      );
    })
    .map(({ id }) => id);
}

function newestFirst(rows: readonly DeliveryRow[]): DeliveryRow[] {
  const unique = new Map(rows.map((row) => [row.id, row]));
  return [...unique.values()].sort((a, b) => b.acceptedAt - a.acceptedAt || (a.id < b.id ? 1 : -1));
}
