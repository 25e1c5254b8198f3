import { withTimeout } from '../runtime/async';
import { LATENCY_BOUNDS, metrics, only, type Sample } from '../telemetry/metrics';
import { brokerClock } from './broker-clock';
import { type FetchedRecord } from './protocol/batch';
import { type PollLiveness } from '../runtime/health';
import { KAFKA_METRICS as INFO } from './metric-info';
import { type Partition } from './consumer/partition';
import { type QueuePart } from './produce/request';
import { type Blocked } from './produce/errors';
import {
  type BatchProducer,
  type BatchProducerOptions,
  type ConsumeOptions,
  type Consumption,
} from './port';
import { TIER_PREFIX, tierDelayMs, tierTopic } from './topics';
import { type Bounds } from './consumer/leaders';
import { type UnassignedLag } from './consumer/unassigned-lag';

/**
 * Measures producers and consumers. Counts once for each request or fetch, never for each record.
 */

const KAFKA = { 'messaging.system': 'kafka' };
const SEND = { ...KAFKA, 'messaging.operation.name': 'send' };
const POLL = { ...KAFKA, 'messaging.operation.name': 'poll' };

const sent = metrics.counter(INFO.sent);
const consumed = metrics.counter(INFO.consumed);
const missed = metrics.counter(INFO.missed);
const cut = metrics.counter(INFO.cut);
const duration = metrics.histogram(INFO.duration, LATENCY_BOUNDS);
const succeeded = duration.of(SEND);
const failed = duration.of({ ...SEND, 'error.type': 'failed' });

/** why offsets were missed; the label is there for other reasons */
const RETENTION = 'retention';

const producers = new Map<BatchProducer, BatchProducerOptions>();

metrics.gauge(INFO.pending, () =>
  only([...producers.keys()].reduce((sum, { pendingBytes }) => sum + pendingBytes, 0)),
);
metrics.gauge(INFO.limit, () => {
  const limits = [...producers.values()]
    .map(({ maxPendingBytes }) => maxPendingBytes)
    .filter(Number.isFinite);
  return limits.length === 0 ? [] : only(limits.reduce((sum, bytes) => sum + bytes, 0));
});
metrics.gauge(INFO.oldestPending, () => {
  const now = Date.now();
  const waits = [...producers.keys()].map(({ oldestPendingAt = now }) => now - oldestPendingAt);
  return only(Math.max(0, ...waits) / 1_000);
});

const blockedOf = new Map<BatchProducer, () => Iterable<Blocked>>();
metrics.gauge(INFO.blocked, () => {
  const samples = new Map<string, Sample>();
  for (const blocked of blockedOf.values()) {
    for (const { topic, error } of blocked()) {
      const labels = { 'messaging.destination.name': topic, reason: error.name };
      const sample = samples.get(`${topic} ${error.name}`);
      samples.set(`${topic} ${error.name}`, { labels, value: (sample?.value ?? 0) + 1 });
    }
  }
  return [...samples.values()];
});
const spilled = metrics.counter(INFO.spilled);

export function meterSpilled(topic: string, records: number): void {
  spilled.of({ 'messaging.destination.name': topic }).value += records;
}

export interface ProducerMeter {
  /** Counts an answered request, with the acknowledged part of it. */
  answered(acknowledged: readonly QueuePart[], ms: number): void;
  failed(ms: number): void;
  end(): void;
}

export function meterProducer(
  producer: BatchProducer,
  options: BatchProducerOptions,
  blocked: () => Iterable<Blocked>,
): ProducerMeter {
  producers.set(producer, options);
  blockedOf.set(producer, blocked);
  return {
    answered: (acknowledged, ms) => {
      succeeded.record(ms / 1_000);
      for (const { queue, items } of acknowledged) {
        sent.of({ ...SEND, 'messaging.destination.name': queue.topic }).value += items.length;
      }
    },
    failed: (ms) => failed.record(ms / 1_000),
    end: () => {
      producers.delete(producer);
      blockedOf.delete(producer);
    },
  };
}

/** Counts offsets that were read, and then cut off the log. @param group it, or another reader */
export function meterCut(group: string, topic: string, offsets: number): void {
  cut.of({ group, topic }).value += offsets;
}

export interface ConsumerMeter {
  /** Counts fetched records. */
  read(partition: Partition, records: readonly FetchedRecord[]): void;
  /** Counts offsets that retention has deleted before they were done. */
  missed(topic: string, offsets: number): void;
  /** Counts offsets that were read, and then cut off the log. */
  cut(topic: string, offsets: number): void;
  end(): void;
}

export interface Metered extends Pick<ConsumeOptions, 'group' | 'label'> {
  topics: readonly string[];
  of: Pick<Consumption, 'joined' | 'open'>;
  liveness: Pick<PollLiveness, 'pollAgeMs'>;
  partitions: ReadonlyMap<string, Partition>;
  /** returns the retention of topics by their full names, ms */
  retention: (topics: readonly string[]) => Promise<ReadonlyMap<string, number>>;
  prefix: string;
  /** returns the bounds of the partitions of a topic whose leaders answer */
  bounds: (topic: string) => Promise<ReadonlyMap<number, Bounds>>;
  /** returns the lag of partitions without a reader; undefined if it is not known now */
  unassigned: (
    bounds: ReadonlyMap<string, ReadonlyMap<number, Bounds>>,
  ) => Promise<ReadonlyMap<string, UnassignedLag> | undefined>;
}

interface Watched extends Metered {
  /** by topic and partition, as of the last poll */
  known: Map<string, ReadonlyMap<number, Bounds>>;
  /** by topic with its prefix, ms, as of the last poll */
  retained: ReadonlyMap<string, number>;
  /** by topic, as of the last poll */
  without: ReadonlyMap<string, UnassignedLag>;
  polledAt: number;
}

const consumers = new Set<Watched>();
/** More frequent scrapes get the same ends of topics. */
const POLL_EVERY_MS = 5_000;
/** A broker that does not answer must not make the metrics fail: they are most needed then. */
const POLL_MS = 1_000;

export function meterConsumer(metered: Metered): ConsumerMeter {
  const group = metered.label ?? metered.group;
  const unknown = {
    known: new Map(),
    retained: new Map(),
    without: new Map(),
    polledAt: -Infinity,
  };
  const watched: Watched = { ...metered, group, ...unknown };
  // The series exist from the start, so that the first missed offsets show as an increase.
  for (const topic of metered.topics) {
    missed.of({ group, topic, reason: RETENTION });
    meterCut(group, topic, 0);
  }
  consumers.add(watched);
  return {
    read: (partition, records) => {
      const { topic } = partition;
      const labels = {
        'messaging.destination.name': topic,
        'messaging.consumer.group.name': group,
      };
      consumed.of({ ...POLL, ...labels }).value += records.length;
      partition.fetched(records);
    },
    missed: (topic, offsets) => {
      missed.of({ group, topic, reason: RETENTION }).value += offsets;
    },
    cut: (topic, offsets) => meterCut(group, topic, offsets),
    end: () => void consumers.delete(watched),
  };
}

metrics.beforeReading(async () => {
  await withTimeout(POLL_MS, Promise.allSettled([...consumers].map(poll)));
});

async function poll(watched: Watched): Promise<void> {
  if (performance.now() - watched.polledAt < POLL_EVERY_MS) return;
  watched.polledAt = performance.now();
  const { prefix, topics } = watched;
  const names = topics.map((topic) => prefix + topic);
  await Promise.allSettled([
    watched.retention(names).then((retained) => (watched.retained = retained)),
    ...topics.map(async (topic) => {
      const bounds = await watched.bounds(topic);
      // A partition without a leader keeps its last known end.
      watched.known.set(topic, new Map([...(watched.known.get(topic) ?? []), ...bounds]));
    }),
  ]);
  watched.without = (await watched.unassigned(watched.known)) ?? watched.without;
}

/** Returns one sample for each group. */
function byGroup(value: (watched: Watched) => number): () => Sample[] {
  return () =>
    [...consumers].map((watched) => ({ labels: { group: watched.group }, value: value(watched) }));
}

/** Returns one sample for each topic of each group. */
function byTopic(value: (watched: Watched, topic: string) => number): () => Sample[] {
  return () =>
    [...consumers].flatMap((watched) =>
      watched.topics.map((topic) => ({
        labels: { group: watched.group, topic },
        value: value(watched, topic),
      })),
    );
}

function progressOf({ partitions }: Watched, topic: string) {
  return [...partitions.values()]
    .filter((partition) => partition.topic === topic)
    .map(({ progress }) => progress);
}

function lagOf(watched: Watched, topic: string): number {
  const bounds = watched.known.get(topic);
  const lags = progressOf(watched, topic).map(
    ({ partition, committable }) => (bounds?.get(partition)?.high ?? committable) - committable,
  );
  return lags.reduce((sum, lag) => sum + Math.max(0, lag), watched.without.get(topic)?.lag ?? 0);
}

/** Returns the age of the oldest unfinished record, by the clock that has stamped it; seconds. */
function ageOf(watched: Watched, topic: string): number {
  const now = brokerClock.brokersNow();
  const { oldestAtMs: unreadAtMs = now } = watched.without.get(topic) ?? {};
  return (
    Math.max(
      0,
      now - unreadAtMs,
      ...progressOf(watched, topic).map(({ oldestAtMs = now }) => now - oldestAtMs),
    ) / 1_000
  );
}

metrics.gauge(INFO.lag, byTopic(lagOf));
metrics.gauge(INFO.oldest, byTopic(ageOf));
metrics.gauge(INFO.retention, () =>
  byTopic(
    ({ retained, prefix }, topic) => (retained.get(prefix + topic) ?? Infinity) / 1_000,
  )().filter(({ value }) => value < Infinity),
);
metrics.gauge(
  INFO.unassigned,
  byTopic(({ without }, topic) => without.get(topic)?.partitions ?? 0),
);
metrics.gauge(
  INFO.open,
  byGroup(({ of }) => of.open),
);
metrics.gauge(
  INFO.joined,
  byGroup(({ of }) => Number(of.joined)),
);
metrics.gauge(
  INFO.turned,
  byGroup(({ liveness }) => liveness.pollAgeMs / 1_000),
);
metrics.gauge(INFO.partitions, () =>
  [...consumers].flatMap((watched) =>
    watched.topics.flatMap((topic) =>
      (['reading', 'resting', 'leaving'] as const).map((state) => ({
        labels: { group: watched.group, topic, state },
        value: progressOf(watched, topic).filter((each) => each.state === state).length,
      })),
    ),
  ),
);
metrics.gauge(INFO.overdue, () =>
  [...consumers].flatMap((watched) =>
    watched.topics.flatMap((topic) => {
      const delayMs = tierDelayMs(topic);
      if (delayMs === undefined) return [];
      const value = Math.max(0, ageOf(watched, topic) - delayMs / 1_000);
      return [{ labels: { tier: tierTopic(delayMs).slice(TIER_PREFIX.length) }, value }];
    }),
  ),
);
