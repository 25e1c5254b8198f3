/**
 * The indexes of a part of the deliveries: one for each filter, in the order of the list. Ids are looked up alone: their hash
 * is half the size. The short column at the end of some is for filters that are joined: a rare type among the many rows of a
 * destination is told in the index, and only what matches is fetched from the rows.
 *
 * An index that grows row by row costs more than twice as much as one made of all rows at once. So an embedded database, whose
 * time is control's, makes a part's indexes when the part has its rows (table-partitions.ts says when): until then it is read from end
 * to end, which a part of that size allows. A server has a part's indexes from its beginning, and parts of any size.
 */

const INDEXES = {
  destination: '(destination, accepted_at, type)',
  source: '(source, accepted_at, type)',
  status: '(status, accepted_at, type)',
  type: '(type, accepted_at, status)',
  user: '(user_id, accepted_at)',
  // For deletions alone.
  anonymous: '(anonymous_id) where anonymous_id is not null',
  id: 'using hash (id)',
  message: 'using hash (message)',
  // What did not arrive, of one destination: few among many. The overview counts what is under way by it alone.
  trouble: `(destination, status, accepted_at) include (test) where status <> 'delivered'`,
};

/** What makes a part's indexes. Each may be done by itself; one that a crash left out is made when all are done again. */
export function indexing(part: string): string[] {
  return [
    ...Object.entries(INDEXES).map(
      ([name, definition]) => `create index if not exists ${part}_by_${name} on waypost.${part} ${definition}`,
    ),
    `update waypost.parts set indexed = true where name = '${part}'`,
  ];
}

/**
 * How closely a look at the values goes into some columns, the default being 100. No question compares the first, which are
 * most of a row. Of ids it must be known that each is another: else a message is looked for in the order of the list.
 */
const STATISTICS = { tries: 0, record: 0, reason: 0, id: 1, message: 1 };

export function spareStatistics(part: string): string {
  const columns = Object.entries(STATISTICS).map(
    ([column, closely]) => `alter column ${column} set statistics ${String(closely)}`,
  );
  return `alter table waypost.${part} ${columns.join(', ')}`;
}
