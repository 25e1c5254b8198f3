import { type InRecord, type Kafka, type Tail } from '../../../shared/kafka/port';
import { MESSAGES, REJECTED } from '../../../shared/kafka/topics';
import { type ConfigReader, type ConfigView } from '../../../shared/config/types';
import { ALERTS_ID } from '../../../shared/model/config';
import { parseMessage } from '../../../shared/model/message-codec';
import { newerFormatOf } from '../../../shared/model/record-format';
import { MOST_REACHED } from '../../../shared/api/operation';
import { outcomeInThePast, type RouteOutcome } from '../../../shared/model/route';
import { filtersOf } from '../../../shared/cel/compile';
import { type History } from '../history/history';
import { Periodic } from '../../../shared/runtime/async';
import { newerFormat } from '../../../shared/runtime/errors';
import { type RequestWork } from '../expressions/work';
import { type DebugEvent, type Entry, EventBuffer } from './buffer';
import { EventStreams } from './sse';

/**
 * Follows accepted and rejected calls for the debugger, keeps the latest in memory, and streams
 * them.
 */

/** Soon enough for a person who watches. Each fetch costs as much as reading a hundred calls. */
const BATCH_MS = 500;
/** What control reads again at its start, so that the debugger is not empty. */
const READ_BACK_MS = 3_600_000;
const READ_BACK_RECORDS = 2_000;
/**
 * Interval after which calls of users that another process deleted are hidden, and hidden calls are
 * freed.
 */
const DELETIONS_EVERY_MS = 1_000;
/** A process alone knows each deletion at once, and hides its calls. */
const FREE_EVERY_MS = 10_000;

export type Events = Awaited<ReturnType<typeof openEvents>>;

export interface EventsOptions {
  kafka: Pick<Kafka, 'tail'>;
  config: Pick<ConfigReader, 'source' | 'destinationsOf' | 'onChange'>;
  history: Pick<History, 'forgotten' | 'learnDeletions'>;
  /** no other process uses the database */
  isOnlyProcess: boolean;
  now: () => number;
  /** measures the work of streams, in ms */
  cpu?: () => number;
  onFatal: (error: unknown) => void;
}

export async function openEvents(options: EventsOptions) {
  const { kafka, config, history, now, onFatal } = options;
  const { forgotten } = history;
  const ring = new EventBuffer(undefined, forgotten);
  const shown = {
    shows: ring.shows.bind(ring),
    show: (entry: Entry, work: RequestWork) => showEvent(entry, config, work),
  };
  const streams = new EventStreams(now, shown, options.cpu);
  config.onChange(({ kind }) => {
    if (kind === 'token') streams.recheck();
  });
  const follow = (topic: string, accepted: boolean): Promise<Tail> => {
    const from = { sinceMs: now() - READ_BACK_MS, atMost: READ_BACK_RECORDS };
    const onRecord = (record: InRecord) => {
      const notice = noticeOfNewer(record);
      const value = notice === undefined ? record.value : valueOf(notice, accepted);
      const entry = ring.add(record, accepted, value);
      if (!ring.hides(entry)) streams.publish(entry);
    };
    return kafka.tail({
      name: `control-${topic}`,
      topic,
      from,
      batchMs: BATCH_MS,
      onRecord,
      onFatal,
    });
  };
  const tails = await Promise.all([follow(MESSAGES, true), follow(REJECTED, false)]);
  let purged = 0;
  const { isOnlyProcess } = options;
  const deletions = new Periodic(isOnlyProcess ? FREE_EVERY_MS : DELETIONS_EVERY_MS, async () => {
    // While the database is away, no user can be deleted.
    await history.learnDeletions().catch(() => undefined);
    if (forgotten.latestSeq === purged) return;
    purged = forgotten.latestSeq;
    ring.purge();
  });
  deletions.start();
  return {
    ring,
    streams,
    /** Ends the streams. Call it before waiting for connections to end. */
    stop: async () => {
      streams.stop();
      await deletions.stop();
      await Promise.all(tails.map((tail) => tail.stop()));
    },
  };
}

function noticeOfNewer(record: InRecord): string | undefined {
  const format = newerFormatOf(record.headers);
  return format === undefined
    ? undefined
    : newerFormat(record, format, 'this control process').message;
}

/** Returns a value that shows a sentence as the call, or as the reason why it was rejected. */
function valueOf(notice: string, accepted: boolean): Buffer {
  return Buffer.from(
    JSON.stringify(accepted ? notice : { call: null, code: 'newer_format', message: notice }),
  );
}

/**
 * Explains where an accepted event went, by the router's rules and the current configuration. So
 * changes since the event are part of the result.
 */
interface Reached {
  destination: string;
  name: string;
  outcome: RouteOutcome['outcome'];
  /** reason of a filter error */
  reason?: string;
}

export type ShownEvent = DebugEvent & {
  /**
   * results for the destinations of its source; only for accepted events, and only if there was
   * time for their filters
   */
  destinations?: Reached[];
};

type Config = Pick<ConfigView, 'source' | 'destinationsOf'>;

/** @param work the filters of the destinations are part of it */
export function showEvent(entry: Entry, config: Config, work: RequestWork): ShownEvent {
  const event = work.measure(() => entry.view());
  if (!entry.accepted || work.isSpent) return event;
  const destinations = work.measure(() => reached(entry, config, work));
  return destinations ? { ...event, destinations } : event;
}

function reached(
  { source: id, value }: Entry,
  config: Config,
  work: Pick<RequestWork, 'isSpent'>,
): Reached[] | undefined {
  const source = config.source(id)?.data;
  const message = parseMessage(value);
  if (!source || typeof message === 'string') return [];
  const ask = filtersOf(message);
  const found: Reached[] = [];
  for (const { data } of config.destinationsOf(id)) {
    if (data.id === ALERTS_ID) continue;
    if (found.length === MOST_REACHED) break;
    if (work.isSpent) return undefined;
    const outcome = outcomeInThePast(message, source, data, ask);
    found.push({ destination: data.id, name: data.name, ...outcome });
  }
  return found;
}
