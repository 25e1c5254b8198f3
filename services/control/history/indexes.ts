/**
 * The indexes of a partition of the deliveries: one for each filter, in the order of the list. Ids are looked up alone,
 * and a hash is half the size. The short last column of some is for combined filters: the index alone finds a rare type
 * among the many rows of a destination, and only matching rows are fetched.
 *
 * An index built row by row costs more than twice as much as one built at the end. An embedded database uses control's
 * CPU time, so it indexes a partition when it has its rows (table-partitions.ts decides when). Until then queries scan
 * the partition, which is small enough for that. A server indexes partitions from the beginning, and they may have any
 * size.
 */

const INDEXES = {
  destination: '(destination, accepted_at, type)',
  source: '(source, accepted_at, type)',
  status: '(status, accepted_at, type)',
  type: '(type, accepted_at, status)',
  user: '(user_id, accepted_at)',
  // For deletions only.
  anonymous: '(anonymous_id) where anonymous_id is not null',
  id: 'using hash (id)',
  message: 'using hash (message)',
  // Undelivered deliveries of one destination, few among many. The overview counts open deliveries by this index alone.
  trouble: `(destination, status, accepted_at) include (test) where status <> 'delivered'`,
};

/**
 * Returns the statements that index a partition. Each can run alone; after a crash all run again and create the missing
 * indexes.
 */
export function indexing(part: string): string[] {
  return [
    ...Object.entries(INDEXES).map(
      ([name, definition]) => `create index if not exists ${part}_by_${name} on waypost.${part} ${definition}`,
    ),
    `update waypost.parts set indexed = true where name = '${part}'`,
  ];
}

/**
 * Statistics targets of some columns; the default is 100. No query compares the columns with 0, which make up most of a
 * row. For ids PostgreSQL must know that they are unique; otherwise it scans the list in its order to find a message.
 */
const STATISTICS = { tries: 0, record: 0, reason: 0, id: 1, message: 1 };

export function spareStatistics(part: string): string {
  const columns = Object.entries(STATISTICS).map(
    ([column, closely]) => `alter column ${column} set statistics ${String(closely)}`,
  );
  return `alter table waypost.${part} ${columns.join(', ')}`;
}
