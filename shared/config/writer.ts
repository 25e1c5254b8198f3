import { randomUUID } from 'node:crypto';
import { defined } from '../collections/defined';
import { inTurn, withDeadline } from '../runtime/async';
import { configKey, type ConfigRecord, type Kind, type Kinds, SYSTEM_ID } from '../model/config';
import { AppError, isRefused, messageOf } from '../runtime/errors';
import { type BatchProducer, type OutRecord } from '../kafka/port';
import { CONFIG } from '../kafka/topics';
import { type Log } from '../telemetry/log';
import { type Authenticator, NOTE_HEADER } from './authentication';
import { KEY_DIFFERS } from './encryption';
import { type FollowedConfig } from './reader';
import { FORMAT } from '../model/record-format';
import { type ApplyResult, keepsDeletion } from './state';

/**
 * Writes `config`. Only control uses it.
 *
 * A write is successful once its own record was read back and applied. A change that a caller sees
 * as done is therefore done for every reader. Changes run one after the other in this process, so
 * that each replaces exactly the versions that it read.
 *
 * Repair after concurrent writes: if two control processes write at the same time, every reader of
 * the whole log ignores the second record. But compaction keeps the last record of a key, which is
 * the ignored one, and a later reader would apply it. A writer that sees an ignored last record
 * therefore appends the record in force as the next version (or the tombstone of a deleted entry).
 * Two writers that do so concurrently append the same content; the second record is ignored and,
 * since its content is the same, needs no repair.
 */

/** Longer than a broker takes to elect a leader; shorter than people wait for a response. */
const WRITE_DEADLINE_MS = 10_000;
/**
 * Pause after a failed repair, which may take a turn for as long as a write. Readers confirm the
 * end of the topic ten times a second.
 */
const REPAIR_AGAIN_MS = 10_000;
/** Limit of waiting turns. People and scripts make few changes; more means that Kafka is away. */
const MAX_TURNS = 200;
/** Limit of the versions of strangers that the next record follows. */
const MAX_FORGED = 1_000;
/** Identifies a writer's own records. */
const WRITE_HEADER = 'write';

type Written<K extends Kind> =
  | { ok: true; version: number; data: Kinds[K] | undefined }
  /** another writer was first: read and decide again */
  | { ok: false; reason: 'conflict' };

export type Write = <K extends Kind>(
  kind: K,
  id: string,
  data: Kinds[K] | undefined,
  options: { replaces: number; note?: string },
) => Promise<Written<K>>;

export interface ConfigWriter {
  /**
   * Appends a new version of an entry (without `data`: deletes it) and reads it back.
   * @throws AppError `bad_settings` if WAYPOST_SECRET_KEY differs; `kafka_unavailable` if this
   * takes longer than 10 s (it may have been written or not); `overloaded` if too many writes wait
   */
  write: Write;
  /**
   * Runs `work` exclusively within this process. Its `write` is valid for this turn only. Errors as
   * for `write`.
   */
  inTurn<T>(work: (write: Write) => Promise<T>): Promise<T>;
  /**
   * Appends a tombstone for a key that no entry can have. Errors as for `write`.
   */
  bury(key: string): Promise<void>;
  /** Waits for the turns begun. */
  close(): Promise<void>;
}

export interface ConfigWriterOptions {
  config: FollowedConfig;
  producer: BatchProducer;
  authenticator: Authenticator;
  log: Log;
  now: () => Date;
}

/** Opens the writer, and repairs records that an earlier process left. */
export function openWriter(options: ConfigWriterOptions): ConfigWriter {
  const { config, log } = options;
  const turns = takeTurns();
  const write = createWrite(options);
  let healing = false;
  /** by `performance.now()` */
  let healNotBefore = -Infinity;

  const heal = () => {
    if (healing || config.unsettled().length === 0 || !mayWrite(options)) return;
    if (performance.now() < healNotBefore) return;
    healing = true;
    turns
      .take(() => repairCompaction(options))
      .catch((error: unknown) => {
        healNotBefore = performance.now() + REPAIR_AGAIN_MS;
        log.warn({ reason: messageOf(error) }, 'config.repair_failed');
      })
      .finally(() => (healing = false));
  };
  // Also without new records: Kafka may have been away when an ignored one came.
  config.onComplete(heal);
  heal();

  return {
    write: (kind, id, data, entry) => turns.take(() => write(kind, id, data, entry)),
    inTurn: (work) => turns.take(() => work(write)),
    bury: (key) =>
      turns.take(() => withDeadline(WRITE_DEADLINE_MS, options.producer.send([tombstone(key)]))),
    close: () => turns.idle(),
  };
}

/**
 * Returns whether this process has a key of `config` (see keyProblem). Otherwise no process with
 * the right key would believe its records, and each would undo the records of the other.
 */
function mayWrite({ config, authenticator }: ConfigWriterOptions): boolean {
  const system = config.system()?.data;
  return system ? authenticator.hasKeyOf(system.canary) : !config.isUnreadable('system', SYSTEM_ID);
}

/** Creates the function that writes, to be called within a turn. */
function createWrite(options: ConfigWriterOptions): Write {
  const { config, producer, authenticator, now } = options;
  const verdicts = awaitResults(config);
  return async (kind, id, data, { replaces, note }) => {
    const key = configKey(kind, id);
    // A new canary is what `config reseal --key-lost` begins with.
    if (kind !== 'system' && !mayWrite(options)) throw new AppError('bad_settings', KEY_DIFFERS);
    const current = config.recordAt(key);
    if ((current?.version ?? 0) !== replaces) return { ok: false, reason: 'conflict' };
    const { first, ...versions } = versionsAfter(options, kind, id);
    const record: ConfigRecord = {
      format: FORMAT,
      kind,
      id,
      ...versions,
      at: now().toISOString(),
      ...defined({ data: data || undefined }),
    };
    const own = verdicts.next();
    try {
      const headers = {
        [WRITE_HEADER]: own.mark,
        ...defined({ [NOTE_HEADER]: note }),
      };
      await withDeadline(
        WRITE_DEADLINE_MS,
        producer.send([...first, outRecord(authenticator, record, headers)]),
      );
      const verdict = await withDeadline(WRITE_DEADLINE_MS, own.verdict);
      if (verdict.kind !== 'applied') return { ok: false, reason: 'conflict' };
    } finally {
      own.forget();
    }
    if (data === undefined && !keepsDeletion(kind)) await writeTombstone(key, options);
    return { ok: true, version: record.version, data };
  };
}

/**
 * Appends the tombstone of a deletion, so that compaction removes the entry. The deletion itself is
 * done; on failure the next repair appends the tombstone.
 */
async function writeTombstone(key: string, { producer, log }: ConfigWriterOptions): Promise<void> {
  try {
    await withDeadline(WRITE_DEADLINE_MS, producer.send([tombstone(key)]));
  } catch (error) {
    log.warn({ key, reason: messageOf(error) }, 'config.tombstone_failed');
  }
}

/**
 * Appends the record in force for every unsettled key; see the head of this file.
 * @throws AppError `kafka_refused` at the end if Kafka refuses records for good
 */
async function repairCompaction(options: ConfigWriterOptions): Promise<void> {
  const { config, producer, log } = options;
  // The turn before may have deleted an entry: its tombstone is not read yet.
  await config.refresh(WRITE_DEADLINE_MS);
  const refused: string[] = [];
  for (const key of config.unsettled()) {
    try {
      await withDeadline(WRITE_DEADLINE_MS, producer.send(repairOf(key, options)));
      log.info({ key }, 'config.repaired');
    } catch (error) {
      if (!isRefused(error)) throw error;
      refused.push(`${key}: ${error.message}`);
    }
  }
  // The next turn must see the repaired versions. Otherwise it would replace an old version.
  await config.refresh(WRITE_DEADLINE_MS);
  if (refused.length > 0) throw new AppError('kafka_refused', refused.join('; '));
}

/** Returns the records that settle a key. */
function repairOf(key: string, options: ConfigWriterOptions): OutRecord[] {
  const { config, authenticator, now } = options;
  const present = config.recordAt(key);
  if (!present || (present.data === undefined && !keepsDeletion(present.kind))) {
    return [tombstone(key)];
  }
  const { first, ...versions } = versionsAfter(options, present.kind, present.id);
  const next = { ...present, ...versions, at: now().toISOString() };
  const headers = { [WRITE_HEADER]: randomUUID() };
  return [...first, outRecord(authenticator, next, headers)];
}

/**
 * Returns the version of the next record of an entry, and the records that must be appended before
 * it. Services without a key may believe a much later version of a stranger; to follow it would use
 * up the versions of the entry. They forget it by a deletion and a tombstone. The deletion is not
 * authenticated, so that processes with the key keep the entry.
 */
function versionsAfter(
  { config, now }: ConfigWriterOptions,
  kind: Kind,
  id: string,
): { first: OutRecord[]; version: number; replaces: number } {
  const key = configKey(kind, id);
  const last = config.lastVersion(key);
  const own = config.recordAt(key)?.version ?? 0;
  if (last - own <= MAX_FORGED) return { first: [], version: last + 1, replaces: last };
  const deletion: ConfigRecord = {
    format: FORMAT,
    kind,
    id,
    version: last + 1,
    replaces: last,
    at: now().toISOString(),
  };
  const first = [{ topic: CONFIG, key, value: JSON.stringify(deletion) }, tombstone(key)];
  return { first, version: own + 1, replaces: own };
}

function outRecord(
  authenticator: Authenticator,
  record: ConfigRecord,
  headers: Record<string, string>,
): OutRecord {
  const value = JSON.stringify(record);
  return {
    topic: CONFIG,
    key: configKey(record.kind, record.id),
    value,
    headers: authenticator.sign(value, headers),
  };
}

function tombstone(key: string): OutRecord {
  return { topic: CONFIG, key, value: null };
}

interface OwnRecord {
  mark: string;
  verdict: Promise<ApplyResult>;
  forget(): void;
}

/** Reports the result of each own record when it is read back. */
function awaitResults(config: FollowedConfig): { next(): OwnRecord } {
  const waiting = new Map<string, (verdict: ApplyResult) => void>();
  config.onVerdict((verdict, record) => {
    const mark = record.headers[WRITE_HEADER];
    if (mark !== undefined) waiting.get(mark)?.(verdict);
  });
  return {
    next: () => {
      const mark = randomUUID();
      const verdict = new Promise<ApplyResult>((resolve) => waiting.set(mark, resolve));
      return { mark, verdict, forget: () => waiting.delete(mark) };
    },
  };
}

interface Turns {
  take<T>(work: () => Promise<T>): Promise<T>;
  idle(): Promise<void>;
}

/**
 * Runs turns one after the other, in the order of calls. A failed turn does not affect the others.
 */
function takeTurns(): Turns {
  const oneAtATime = inTurn();
  let waiting = 0;
  return {
    take: (work) => {
      if (waiting >= MAX_TURNS) {
        return Promise.reject(
          new AppError('overloaded', 'Too many changes are waiting. Try again shortly', true),
        );
      }
      waiting++;
      return oneAtATime(work).finally(() => waiting--);
    },
    idle: () => oneAtATime(() => Promise.resolve()),
  };
}
