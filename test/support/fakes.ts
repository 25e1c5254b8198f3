import { writeKeyHash } from '../../shared/config/encryption';
import { type ConfigReader, type Entry } from '../../shared/config/types';
import { NO_DELETIONS } from '../../shared/deletions/reader';
import { type Source } from '../../shared/model/config';
import { type CallOfUser, DeletedUsers, type DeletionRecord } from '../../shared/model/deletion';
import { AppError } from '../../shared/runtime/errors';
import { type BatchProducer, type OutRecord } from '../../shared/kafka/port';
import { aWriteKey } from './write-key';

/**
 * Fakes of the producer and `config` for tests of ingest's HTTP behaviour. No test imitates Kafka
 * beyond this.
 */

export interface RecordingProducer extends BatchProducer {
  /** the records of each `send`, in order */
  appends: OutRecord[][];
  /** Returns all records of a topic, parsed. */
  values(topic: string): Record<string, unknown>[];
  /** result of the next `send`; resolved by default */
  behave: (records: OutRecord[]) => Promise<void>;
}

export function recordingProducer(): RecordingProducer {
  const appends: OutRecord[][] = [];
  return {
    appends,
    behave: () => Promise.resolve(),
    values: (topic) =>
      appends
        .flat()
        .filter((record) => record.topic === topic)
        .map((record) => JSON.parse(String(record.value)) as Record<string, unknown>),
    send(records) {
      appends.push(records);
      return this.behave(records);
    },
    pendingBytes: 0,
    oldestPendingAt: undefined,
    close: () => Promise.resolve(),
  };
}

type Progress = Pick<
  ConfigReader,
  'completeAt' | 'changes' | 'position' | 'expectSoon' | 'onComplete'
>;

/** Reading progress of `config`, set by a test. */
export interface FakeProgress extends Progress {
  changes: number;
  position: number;
  /** Reports `config` as read to its end, with this number of new records. */
  readToEnd(changes?: number): void;
}

export function fakeProgress(): FakeProgress {
  let completeAt = -Infinity;
  const listeners: (() => void)[] = [];
  return {
    changes: 0,
    position: 0,
    get completeAt() {
      return completeAt;
    },
    expectSoon: () => undefined,
    onComplete: (listener) => listeners.push(listener),
    readToEnd(changes = 0) {
      this.changes += changes;
      this.position += changes;
      completeAt = performance.now();
      for (const listener of listeners) listener();
    },
  };
}

/** Deletions of users that a test makes; `ageMs` is 0, or what it sets. */
export function fakeDeletions() {
  const users = new DeletedUsers();
  return {
    ...NO_DELETIONS,
    ageMs: 0,
    covers: (call: CallOfUser) => users.covers(call),
    deletedSources: users.deletedSources.bind(users),
    usersSince: users.usersSince.bind(users),
    get latestAt() {
      return users.latestAt;
    },
    onDeletion: () => undefined,
    known: () => Promise.resolve(),
    stuck: () => undefined,
    stop: () => Promise.resolve(),
    /** @param appendedAt when Kafka appended its record; default: it is not read yet */
    add: (deletion: Partial<DeletionRecord> & { at: number }, appendedAt?: number) =>
      users.add({ sources: null, ...deletion }, appendedAt),
  };
}

export interface FakeConfig extends ConfigReader {
  position: number;
  add(source: Source): void;
  /** Adds a source that becomes known only with the next refresh. */
  addUnseen(source: Source): void;
  /** while true, refresh fails */
  away: boolean;
  refreshes: number;
}

export function fakeConfig(...sources: Source[]): FakeConfig {
  const known = new Map<string, Entry<Source>>();
  const unseen: Source[] = [];
  const add = (source: Source) => void known.set(source.id, { version: 1, data: source });
  sources.forEach(add);
  return {
    away: false,
    refreshes: 0,
    add,
    addUnseen: (source) => void unseen.push(source),
    source: (id) => known.get(id),
    sourceByWriteKey: (key, nowMs) =>
      [...known.values()].find(({ data }) =>
        data.writeKeys.some(
          (known) =>
            known.key === writeKeyHash(key) && (known.until === undefined || known.until > nowMs),
        ),
      ),
    destination: () => undefined,
    token: () => undefined,
    system: () => undefined,
    audience: () => undefined,
    computedTrait: () => undefined,
    destinationsOf: () => [],
    list: () => [],
    isUnreadable: () => false,
    unreadableDestinationsOf: () => [],
    completeAt: -Infinity,
    changes: 0,
    position: 0,
    expectSoon: () => undefined,
    onComplete: () => undefined,
    stuck: () => undefined,
    refresh() {
      this.refreshes++;
      if (this.away) {
        return Promise.reject(new AppError('kafka_unavailable', 'config cannot be read', true));
      }
      unseen.splice(0).forEach(add);
      return Promise.resolve();
    },
    onChange: () => undefined,
    stop: () => Promise.resolve(),
  };
}

/** Returns an enabled source with one write key. */
export function aSource(over: Partial<Source> = {}): Source {
  const at = '2026-11-21T08:00:00.000Z';
  return {
    id: 'src_1',
    name: 'shop',
    enabled: true,
    writeKeys: [aWriteKey('key-1')],
    createdAt: at,
    updatedAt: at,
    ...over,
  };
}
