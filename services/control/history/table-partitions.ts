/**
 * Partitions the deliveries, and with them their responses, by the time of acceptance, so that the
 * oldest partition can be dropped whole: no row is deleted, nothing is vacuumed, and the space is
 * free immediately. Pure.
 *
 * A partition covers a day at most. It ends early when it has reached its share of the space, or
 * when it has no indexes and as many rows as one query may scan.
 */

/** Times are ms since 1970; `to` is exclusive. */
export interface TablePartition {
  /** of the table with the rows; `tablesOf` has both */
  name: string;
  from: number;
  to: number;
}

export interface SizedPartition extends TablePartition {
  /** of both tables */
  bytes: number;
  /** of the rows, without indexes and TOAST */
  rowBytes: number;
  indexed: boolean;
  /** it has an early end, and its tables are not attached anew yet */
  isEnding: boolean;
}

const DAY_MS = 86_400_000;
/**
 * A partition has at most a sixteenth of the space: that much is dropped when the space is used up.
 */
const SHARES = 16;

/**
 * About 45,000 deliveries: the embedded database scans them in 15 ms, and has room for some forty
 * such partitions.
 */
const UNINDEXED_BYTES = 32 * 1024 * 1024;

export function partOf(parts: readonly TablePartition[], atMs: number): TablePartition | undefined {
  return parts.find(({ from, to }) => from <= atMs && atMs < to);
}

/**
 * Returns a partition for a time that none covers: the day, less what the neighbouring partitions
 * cover.
 */
export function newPart(parts: readonly TablePartition[], atMs: number): TablePartition {
  const day = Math.floor(atMs / DAY_MS) * DAY_MS;
  const from = Math.max(day, ...parts.filter(({ to }) => to <= atMs).map(({ to }) => to));
  const to = Math.min(
    day + DAY_MS,
    ...parts.filter((part) => part.from > atMs).map((part) => part.from),
  );
  return { name: `${PREFIX}${String(from)}`, from, to };
}

const PREFIX = 'deliveries_';

interface PartitionTables {
  deliveries: string;
  responses: string;
}

/**
 * Returns the tables of a partition by the names of the partitioned tables, to which they belong.
 * @param part name of the partition
 */
export function tablesOf(part: string): PartitionTables {
  return { deliveries: part, responses: `responses_${part.slice(PREFIX.length)}` };
}

/**
 * Returns the partitions that are too old, and the oldest while all exceed the size limit. The last
 * one is never dropped.
 */
export function partsToDrop(
  parts: readonly SizedPartition[],
  keep: { sinceMs: number; maxBytes: number },
): SizedPartition[] {
  const oldestFirst = [...parts].sort((a, b) => a.from - b.from);
  let bytes = parts.reduce((sum, part) => sum + part.bytes, 0);
  return oldestFirst.filter((part, i) => {
    const drop = part.to <= keep.sinceMs || (bytes > keep.maxBytes && i < oldestFirst.length - 1);
    if (drop) bytes -= part.bytes;
    return drop;
  });
}

/**
 * Returns the partitions that must end early: full ones without indexes, and the newest if it
 * exceeds its share. Those that are ending count again: the process that began it may have died
 * before it checked their rows.
 */
export function partsToEnd(
  parts: readonly SizedPartition[],
  { maxBytes }: { maxBytes: number },
): SizedPartition[] {
  const newest = [...parts].sort((a, b) => a.from - b.from).at(-1);
  return parts.filter(
    (part) => part.isEnding || isFull(part) || (part === newest && part.bytes > maxBytes / SHARES),
  );
}

/**
 * Returns the partitions to index: full ones, and those whose time is over.
 * @param written since the last run: catching up writes into old partitions, and is faster while
 *   they have no indexes
 */
export function partsToIndex(
  parts: readonly SizedPartition[],
  { nowMs, written }: { nowMs: number; written: ReadonlyMap<string, number> },
): SizedPartition[] {
  return parts.filter(
    (part) => !part.indexed && (isFull(part) || (part.to <= nowMs && !written.has(part.name))),
  );
}

function isFull({ indexed, rowBytes }: SizedPartition): boolean {
  return !indexed && rowBytes >= UNINDEXED_BYTES;
}

/**
 * A partition ends early in two steps, so that nobody waits while its rows are read. First its
 * tables get a check that they have no later row. PostgreSQL then reads them, while others read and
 * write. When later rows come, the tables are attached anew: the check proves the new bounds, and
 * no row is read.
 *
 * @returns the statements that add the check, for new rows
 */
export function addEnd({ name, from, to }: TablePartition): string[] {
  return Object.values(tablesOf(name)).map(
    (table) =>
      `alter table waypost.${table} add constraint ends
       check (accepted_at >= ${String(from)} and accepted_at < ${String(to)}) not valid`,
  );
}

/** Returns the statements that check the rows of a partition. Each can run alone, and again. */
export function checkEnd(part: string): string[] {
  return Object.values(tablesOf(part)).map(
    (table) => `alter table waypost.${table} validate constraint ends`,
  );
}

/** Returns the statements that give the tables of a partition their new bounds. */
export function attachAnew({ name, from, to }: TablePartition): string[] {
  return Object.entries(tablesOf(name)).flatMap(([table, part]) => [
    `alter table waypost.${table} detach partition waypost.${part}`,
    `alter table waypost.${table} attach partition waypost.${part}
     for values from (${String(from)}) to (${String(to)})`,
    `alter table waypost.${part} drop constraint ends`,
  ]);
}

/**
 * The indexes of a partition of the deliveries: one for each filter, in the order of the list. Ids
 * are looked up alone, and a hash is half the size. Of several filters one index finds the newest
 * rows, and the others are checked on these (newest.ts).
 *
 * An index built row by row costs more than twice as much as one built at the end. An embedded
 * database uses control's CPU time, so it indexes a partition when it has its rows (`partsToIndex`
 * decides when). Until then queries scan the partition, which is small enough for that. A server
 * indexes partitions from the beginning, and they may have any size.
 */

const INDEXES = {
  destination: '(destination, accepted_at)',
  // While an endpoint is away, the newest deliveries have no attempt, and the last one that has is
  // far.
  attempted: '(destination, accepted_at) where made > 0',
  source: '(source, accepted_at)',
  status: '(status, accepted_at)',
  type: '(type, accepted_at)',
  user: '(user_id, accepted_at)',
  // For deletions only.
  anonymous: '(anonymous_id) where anonymous_id is not null',
  event: '(event, accepted_at) where event is not null',
  // The filters for failures, of one status and of a class. A success is found by any other index.
  code: '(last_status, accepted_at) where last_status >= 300',
  class: '((last_status / 100), accepted_at) where last_status >= 300',
  error: '(last_error, accepted_at) where last_error is not null',
  // Counts of the overview and of charts lead to the deliveries that ended in a part of the time.
  ended: '(settled_at) where settled_at is not null',
  // The members of a batch.
  batch: 'using gin (batches) where batches is not null',
  // Also for the results of a job, which the index alone counts.
  job: '(job, accepted_at) include (status, job_result) where job is not null',
  id: 'using hash (id)',
  message: 'using hash (message)',
  // Undelivered deliveries of one destination, few among many. The overview counts open deliveries
  // by this index alone.
  trouble: `(destination, status, accepted_at) include (test, reason, made)
    where status <> 'delivered'`,
};

/**
 * Returns the statements that index a partition. Each can run alone; after a crash all run again
 * and create the missing indexes.
 */
export function indexing(part: string): string[] {
  return [
    ...Object.entries(INDEXES).map(
      ([name, definition]) =>
        `create index if not exists ${part}_by_${name} on waypost.${part} ${definition}`,
    ),
    `update waypost.parts set indexed = true where name = '${part}'`,
  ];
}

/**
 * Statistics targets of some columns; the default is 100. No query compares the columns with 0,
 * which make up most of a row. For ids PostgreSQL must know that they are unique; otherwise it
 * scans the list in its order to find a message.
 */
const STATISTICS = { tries: 0, record: 0, reason: 0, id: 1, message: 1 };

/** Returns the statements that set them for a new partition. */
export function spareStatistics(part: string): string[] {
  const columns = Object.entries(STATISTICS).map(
    ([column, closely]) => `alter column ${column} set statistics ${String(closely)}`,
  );
  return [
    `alter table waypost.${part} ${columns.join(', ')}`,
    `alter table waypost.${tablesOf(part).responses} alter column response set statistics 0`,
  ];
}
