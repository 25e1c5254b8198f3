import { groupBy } from '../../shared/collections/group-by';
import { type InRecord, type Kafka, type Range } from '../../shared/kafka/port';
import { partitionOf } from '../../shared/kafka/protocol/bytes';
import { scan } from '../../shared/kafka/scan';
import { destinationOfKey, isRecalled, type Recall } from '../../shared/model/recall';
import { type KnownRecall } from './recall-log';
import { type TierPositions } from './tier-positions';

/**
 * Finds the records in the tiers that recalls want. It reads each partition from where its return
 * stands to its end.
 */

type Reads = Pick<Kafka, 'read' | 'ranges' | 'committed'>;

export interface SearchDeps {
  kafka: Reads;
  positions: TierPositions;
  sleep: (ms: number) => Promise<void>;
}

export interface FoundRecord {
  known: KnownRecall;
  record: InRecord;
}

export interface Search {
  /** wanted in one search */
  group: readonly KnownRecall[];
  /** owned partitions */
  partitions: readonly number[];
  /** false: read no further in this partition */
  goesOn: (partition: number) => boolean;
  /** Takes the found records, and resolves when they are taken. */
  take: (found: FoundRecord[]) => Promise<void>;
}

/** Reads several partitions concurrently, so that the first delivery is found soon. */
const CONCURRENT = 4;
const FETCH_BYTES = 2 * 1024 * 1024;
const GROUP = 'retry';

/**
 * A new owner waits this long for the first record of a partition, which shows where the last owner
 * has stopped.
 */
const HEAD = { tries: 40, everyMs: 50 };

/** A tier, and what Kafka says about its partitions. */
export interface TierBounds {
  topic: string;
  ranges: readonly Range[];
  committed: readonly number[];
}

/** @throws AppError `kafka_unavailable` */
export function readTierBounds(kafka: Reads, tiers: readonly string[]): Promise<TierBounds[]> {
  const read = async (topic: string): Promise<TierBounds> => {
    const [ranges, committed] = await Promise.all([
      kafka.ranges(topic),
      kafka.committed(GROUP, topic),
    ]);
    return { topic, ranges, committed };
  };
  return Promise.all(tiers.map(read));
}

/** Returns the number of partitions that tiers have. */
export function partitionCount(bounds: readonly TierBounds[]): number {
  return Math.max(0, ...bounds.map(({ ranges }) => ranges.length));
}

/** @returns the partitions that need no further search. @throws AppError `kafka_unavailable` */
export async function searchTiers(
  deps: SearchDeps,
  search: Search,
  bounds: readonly TierBounds[],
): Promise<number[]> {
  const queue = ordered(search, partitionCount(bounds));
  const searched = search.partitions.filter((each) => !queue.includes(each));
  const work = async () => {
    for (let partition = queue.shift(); partition !== undefined; partition = queue.shift()) {
      for (const each of bySize(bounds, partition)) {
        await searchPartition(deps, search, each, partition);
      }
      if (search.goesOn(partition)) searched.push(partition);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENT }, work));
  return searched;
}

/**
 * Returns the partitions of the keys first. Records that an outage of Kafka has sent to others
 * are found last.
 */
function ordered({ group, partitions }: Search, count: number): number[] {
  const first = new Set(group.flatMap(({ recall }) => keyPartitions(recall, count)));
  const own = partitions.filter((each) => first.has(each));
  const onlyKeys = group.every(({ recall }) => isInKeysAlone(recall));
  return onlyKeys ? own : [...own, ...partitions.filter((each) => !first.has(each))];
}

function isInKeysAlone({ action }: Recall): boolean {
  return action === 'recovered' || action === 'probe';
}

/** Returns the tiers with the smallest partition first: the first delivery is then found soon. */
function bySize(bounds: readonly TierBounds[], partition: number): TierBounds[] {
  const size = ({ ranges, committed }: TierBounds) => {
    const { low, high } = ranges.find((each) => each.partition === partition) ?? {
      low: 0,
      high: 0,
    };
    return high - Math.max(low, committed[partition] ?? 0);
  };
  return bounds.toSorted((a, b) => size(a) - size(b));
}

/** Returns the partitions in which a recall's deliveries are expected: all if it has no keys. */
export function keyPartitions({ keys }: Recall, count: number): number[] {
  if (keys.length === 0) return Array.from({ length: count }, (_, partition) => partition);
  return [...new Set(keys.map((key) => partitionOf(key, count)))];
}

async function searchPartition(
  deps: SearchDeps,
  search: Search,
  bounds: TierBounds,
  partition: number,
): Promise<void> {
  const { topic, ranges, committed } = bounds;
  const range = ranges.find((each) => each.partition === partition);
  if (!range || !search.goesOn(partition)) return;
  const tierPartition = `${topic}/${String(partition)}`;
  const readTos = search.group.map(({ readTo }) => readTo);
  const read = Math.min(...readTos.map((readTo) => readTo.get(tierPartition) ?? 0));
  const low = Math.max(range.low, committed[partition] ?? 0, read);
  const from = Math.max(low, low < range.high ? await headOf(deps, topic, partition) : 0);
  const section = { topic, partition, from, to: range.high, maxBytes: FETCH_BYTES };
  const wantedAt = byDestination(search.group);
  for await (const { records } of scan(deps.kafka, section)) {
    const found = records.flatMap((record) => {
      const wanted = wantedAt(record).filter(
        ({ recall, atMs, found, stopped }) =>
          !found && !stopped && isRecalled(recall, record, atMs),
      );
      // A cancellation wins over a request to send the same delivery.
      const known = wanted.find(({ recall }) => recall.action === 'cancel') ?? wanted[0];
      return known ? [{ known, record }] : [];
    });
    if (found.length > 0) await search.take(found);
    if (!search.goesOn(partition)) return;
  }
  for (const readTo of readTos) readTo.set(tierPartition, range.high);
}

/**
 * Returns a look-up of the recalls that may concern a record: after an outage of a network
 * thousands are searched for together.
 */
function byDestination(
  group: readonly KnownRecall[],
): (record: InRecord) => readonly KnownRecall[] {
  const anywhere = group.filter(({ recall }) => recall.where.destination === undefined);
  const here = groupBy(group, ({ recall }) => recall.where.destination);
  const lists = new Map<string, readonly KnownRecall[]>();
  return ({ key, headers }) => {
    const destination = key === null ? headers.destination : destinationOfKey(key);
    if (destination === undefined) return anywhere;
    let list = lists.get(destination);
    if (!list) lists.set(destination, (list = [...anywhere, ...(here.get(destination) ?? [])]));
    return list;
  };
}

/**
 * Returns the first offset that this process has not returned; 0 if no record was offered to it.
 */
async function headOf(
  { positions, sleep }: SearchDeps,
  topic: string,
  partition: number,
): Promise<number> {
  for (
    let tries = 0;
    tries < HEAD.tries && positions.next(topic, partition) === undefined;
    tries++
  ) {
    await sleep(HEAD.everyMs);
  }
  return positions.next(topic, partition) ?? 0;
}
