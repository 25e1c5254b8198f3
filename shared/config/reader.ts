import { configKey, type ConfigRecord, type Kind } from '../model/config';
import { AppError, fromEarlierBuild } from '../runtime/errors';
import { type InRecord, type Kafka, type Tail } from '../kafka/port';
import { CONFIG } from '../kafka/topics';
import { type Log } from '../telemetry/log';
import { metrics } from '../telemetry/metrics';
import { type Authenticator } from './authentication';
import { type ConfigPart, WHOLE } from './config-subset';
import { FORMAT } from '../model/record-format';
import { ConfigState, type ApplyResult } from './state';
import { configAgeMs, type ConfigReader } from './types';
import { withDeadline } from '../runtime/async';

/**
 * Follows topic `config` in memory. Each service opens one reader at start and uses it for every
 * message.
 */

/** Time for reading all of `config` at start: tens of thousands of entries take seconds. */
const OPEN_DEADLINE_MS = 60_000;

export interface OpenConfigOptions {
  /** the service, for the log */
  name: string;
  /** default: all of `config` */
  part?: ConfigPart;
  /** absent: the service has no key, and believes every record */
  authenticator?: Authenticator | undefined;
  log: Log;
  /** the state can no longer be followed: end the process */
  onFatal(error: unknown): void;
}

/** The methods that the writer (writer.ts) needs beyond reading. */
export interface FollowedConfig extends ConfigReader {
  /** Called after each record with its result. */
  onVerdict(listener: (verdict: ApplyResult, record: InRecord) => void): void;
  /** see ConfigState.unsettled */
  unsettled(): readonly string[];
  /** see ConfigState.recordAt */
  recordAt(key: string): ConfigRecord | undefined;
  /** see ConfigState.lastVersion */
  lastVersion(key: string): number;
  /** see ConfigState.refused */
  refused(): readonly string[];
  /** Returns the keys of entries whose last record is unreadable. */
  unreadableKeys(): readonly string[];
  /** Returns the keys whose last record is not authenticated with the first key. */
  outdated(): readonly string[];
}

/**
 * Opens `config` and reads it to its end.
 * @throws AppError `kafka_unavailable` if the end is not reached in a minute; `newer_format` if a
 * newer Waypost wrote to it, `older_format` if an earlier build did
 */
export async function openConfig(
  kafka: Kafka,
  options: OpenConfigOptions,
): Promise<FollowedConfig> {
  const { part = WHOLE, authenticator } = options;
  const following: Following = {
    held: nothingRead(part),
    anew: undefined,
    changes: 0,
    onVerdict: [],
    onChange: [],
    onComplete: [],
  };
  let fatal: unknown;
  const onFatal = (error: unknown) => {
    // Report only once: every later record would repeat it.
    if (fatal !== undefined) return;
    fatal = error;
    options.onFatal(error);
  };
  const onRecord = (record: InRecord) => {
    const { anew } = following;
    const held = anew?.held ?? following.held;
    // The topic has one partition.
    held.position = record.offset + 1;
    const key = record.key?.toString() ?? '';
    if (part.skips.has(key.slice(0, key.indexOf(':')) as Kind)) return;
    const value = record.value?.toString() ?? null;
    const verdict = held.state.apply(key, value, authenticator?.distrust(record));
    noteAuthenticator(held.outdated, verdict, authenticator?.isCurrent(record) ?? true);
    report(verdict, record, options.log);
    if (verdict.kind === 'newer') onFatal(newerFormat(verdict));
    if (verdict.kind === 'older') onFatal(olderFormat(verdict));
    if (anew) anew.verdicts.push([verdict, record]);
    else notify(following, verdict, record);
  };
  const tail = await kafka.tail({
    name: `${options.name}-config`,
    topic: CONFIG,
    from: 'beginning',
    onRecord,
    onStartOver: () => (following.anew = { held: nothingRead(part), verdicts: [] }),
    onComplete: () => {
      replaceHeld(following);
      for (const listener of following.onComplete) listener();
    },
    onFatal,
  });
  try {
    await tail.caughtUp(OPEN_DEADLINE_MS);
    if (fatal !== undefined) throw fatal as Error;
    const older = following.held.state.olderData();
    if (older !== undefined) throw olderFormat(older);
  } catch (error) {
    await tail.stop();
    throw error;
  }
  open.set(tail, following);
  return follow(tail, following);
}

/** What the records read so far say. */
interface HeldConfig {
  state: ConfigState;
  /** keys whose last record is not authenticated with the first key */
  outdated: Set<string>;
  /** offset behind the last record */
  position: number;
}

interface Following {
  held: HeldConfig;
  /**
   * after the topic was cut or made again: what it says now. It replaces `held` once it is
   * complete, because entries that were cut off must go, and those that are still there must not be
   * missing
   */
  anew: { held: HeldConfig; verdicts: [ApplyResult, InRecord][] } | undefined;
  changes: number;
  onVerdict: ((verdict: ApplyResult, record: InRecord) => void)[];
  onChange: ((record: ConfigRecord) => void)[];
  onComplete: (() => void)[];
}

function nothingRead(part: ConfigPart): HeldConfig {
  return { state: new ConfigState(part), outdated: new Set(), position: 0 };
}

function notify(following: Following, verdict: ApplyResult, record: InRecord): void {
  following.changes++;
  for (const listener of following.onVerdict) listener(verdict, record);
  if (verdict.kind !== 'applied') return;
  for (const listener of following.onChange) listener(verdict.record);
}

/** Holds what was read anew, and tells what has changed. */
function replaceHeld(following: Following): void {
  const { held: before, anew } = following;
  if (!anew) return;
  following.held = anew.held;
  following.anew = undefined;
  for (const [verdict, record] of anew.verdicts) notify(following, verdict, record);
  for (const record of before.state.records()) {
    if (anew.held.state.recordAt(configKey(record.kind, record.id))) continue;
    following.changes++;
    const gone = { ...record };
    delete gone.data;
    for (const listener of following.onChange) listener(gone);
  }
}

const open = new Map<Tail, Following>();
const ageInfo = {
  name: 'waypost.config.age',
  help:
    'Time since the process knew all of `config`; below 6 while Kafka answers. A record that ' +
    'would be dropped or cancelled waits for it. In ingest, router, delivery, audiences and ' +
    'control.',
  unit: 's',
} as const;
metrics.gauge(ageInfo, () =>
  [...open.keys()].map((tail) => ({ labels: {}, value: configAgeMs(tail) / 1_000 })),
);
const unreadableInfo = {
  name: 'waypost.config.unreadable',
  help:
    'Entries of `config` whose last record this process cannot read; `config.unreadable` in ' +
    'its log names them. In ingest, router, delivery, audiences and control.',
};
metrics.gauge(unreadableInfo, () =>
  [...open.values()].map(({ held }) => ({ labels: {}, value: held.state.unreadable })),
);

function follow(tail: Tail, following: Following): FollowedConfig {
  const state = () => following.held.state;
  return {
    source: (id) => state().source(id),
    sourceByWriteKey: (key, nowMs) => state().sourceByWriteKey(key, nowMs),
    token: (id) => state().token(id),
    system: () => state().system(),
    audience: (id) => state().audience(id),
    computedTrait: (id) => state().computedTrait(id),
    destination: (id) => state().destination(id),
    destinationsOf: (sourceId) => state().destinationsOf(sourceId),
    list: (kind) => state().list(kind),
    isUnreadable: (kind, id) => state().isUnreadable(kind, id),
    unreadableDestinationsOf: (sourceId) => state().unreadableDestinationsOf(sourceId),
    get changes() {
      return following.changes;
    },
    get position() {
      return following.held.position;
    },
    get completeAt() {
      return tail.completeAt;
    },
    expectSoon: () => tail.expectSoon(),
    onComplete: (listener) => following.onComplete.push(listener),
    stuck: () => tail.stuck(),
    unsettled: () => state().unsettled(),
    recordAt: (key) => state().recordAt(key),
    lastVersion: (key) => state().lastVersion(key),
    refused: () => state().refused(),
    unreadableKeys: () => state().unreadableKeys(),
    outdated: () => [...following.held.outdated],
    refresh: singleFlight((deadlineMs) => tail.caughtUp(deadlineMs)),
    onVerdict: (listener) => following.onVerdict.push(listener),
    onChange: (listener) => following.onChange.push(listener),
    stop: () => {
      open.delete(tail);
      return tail.stop();
    },
  };
}

/**
 * An ignored record counts too: it may have the content in force, and compaction keeps the last
 * record of a key.
 */
function noteAuthenticator(outdated: Set<string>, verdict: ApplyResult, isCurrent: boolean): void {
  if (verdict.kind === 'removed') outdated.delete(verdict.key);
  if (verdict.kind !== 'applied' && verdict.kind !== 'ignored') return;
  const key =
    verdict.kind === 'applied' ? configKey(verdict.record.kind, verdict.record.id) : verdict.key;
  if (isCurrent) outdated.delete(key);
  else outdated.add(key);
}

function report(verdict: ApplyResult, record: InRecord, log: Log): void {
  const { offset } = record;
  if (verdict.kind === 'unreadable') {
    log.error({ offset, key: verdict.key, reason: verdict.reason }, 'config.unreadable');
  } else if (verdict.kind === 'ignored') {
    log.warn({ offset, key: verdict.key, reason: verdict.reason }, 'config.ignored');
  }
}

function newerFormat(verdict: { key: string; format: number }): AppError {
  return new AppError(
    'newer_format',
    `The topic config holds a record (${verdict.key}) of format ${verdict.format}, written ` +
      `by a newer Waypost; this process reads up to format ${FORMAT}. Upgrade it.`,
  );
}

function olderFormat({ key, format }: { key: string; format: number }): AppError {
  return fromEarlierBuild(`the topic config holds a record (${key}) of format ${format}`);
}

/** Limit of one read, so that it cannot block the next one. No caller waits longer than this. */
const READ_DEADLINE_MS = 10_000;

/**
 * Shares reads of a log's end among concurrent callers. At most one read runs at a time. A caller
 * never gets the result of a read that began before its call, which may have missed the caller's
 * records.
 * @param readEnd resolves when everything in the log at the time of the call is known
 * @returns a function that waits for the next read, and throws AppError `kafka_unavailable` after
 *   its deadline
 */
export function singleFlight(
  readEnd: (deadlineMs: number) => Promise<void>,
): (deadlineMs: number) => Promise<void> {
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;

  const startRead = (): Promise<void> => {
    const current = readEnd(READ_DEADLINE_MS).finally(() => {
      if (running === current) running = undefined;
    });
    running = current;
    return current;
  };
  const after = async (before: Promise<void>): Promise<void> => {
    // Its own callers handle its failure.
    await before.catch(() => undefined);
    next = undefined;
    return startRead();
  };
  return (deadlineMs) => {
    const mine = running ? (next ??= after(running)) : startRead();
    return withDeadline(deadlineMs, mine);
  };
}
