const dropped = (columns: string) => `drop index waypost.deliveries_${columns}_idx`;

/**
 * Migrations of the tables. Each list is one step, which runs once and is never edited afterwards.
 */
export const STEPS: readonly (readonly string[])[] = [
  [
    `create table waypost.deliveries (
       accepted_at bigint not null,
       id text not null,
       message text not null,
       source text not null,
       destination text not null,
       type text not null,
       user_id text,
       status text not null,
       reason text,
       expires_at bigint not null,
       next_at bigint,
       settled_at bigint,
       replay int not null,
       hop int not null,
       made int not null,
       test boolean not null,
       record text not null,
       tries text not null,
       primary key (accepted_at, id)
     ) partition by range (accepted_at)`,
    // One index for each filter, in the order of the list. Ids are looked up alone, and a hash is
    // half the size.
    'create index on waypost.deliveries (destination, accepted_at)',
    'create index on waypost.deliveries (source, accepted_at)',
    'create index on waypost.deliveries (status, accepted_at)',
    'create index on waypost.deliveries (type, accepted_at)',
    'create index on waypost.deliveries (user_id, accepted_at)',
    'create index on waypost.deliveries using hash (id)',
    'create index on waypost.deliveries using hash (message)',
    'create table waypost.parts (name text primary key, from_ms bigint not null, to_ms ' +
      'bigint not null)',
    `create table waypost.counts (
       minute bigint not null,
       destination text not null,
       what text not null,
       count bigint not null,
       primary key (minute, destination, what)
     )`,
    `create table waypost.circuits (
       destination text not null,
       url text not null,
       origin text not null,
       state text not null,
       why text not null,
       at bigint not null,
       primary key (destination, url)
     )`,
  ],
  [
    `create table waypost.deletions (
       id text primary key,
       at bigint not null,
       users text not null,
       sources text not null,
       affected text not null,
       messages int not null
     )`,
  ],
  ['create table waypost.replays (id text primary key, at bigint not null, job text not null)'],
  [
    `create table waypost.audit (
       entry text not null, version int not null, kind text not null, at bigint not null, action text not null,
       name text not null, by_id text not null, by_name text not null, by_role text not null, changes text not null,
       primary key (entry, version)
     )`,
    'create index on waypost.audit (at, entry, version)',
  ],
  [
    // Undelivered deliveries of one destination, few among many. The overview counts open
    // deliveries by it alone.
    'create index on waypost.deliveries (destination, status, accepted_at) include (test) ' +
      "where status <> 'delivered'",
  ],
  [
    'create table waypost.health (destination text primary key, quiet boolean not null, ' +
      'health text not null)',
    'create table waypost.positions (partition int primary key, next bigint not null)',
    `create table waypost.notices (
       id text primary key,
       at bigint not null,
       destination text not null,
       kind text not null,
       since bigint not null,
       ended_at bigint,
       alert text not null,
       said text not null,
       acknowledged text
     )`,
    'create index on waypost.notices (at, id)',
    `create index on waypost.notices (at) where alert = 'due'`,
  ],
  [
    // From here on each partition has its own indexes (table-partitions.ts). Dropping the old ones
    // also drops those of existing partitions, which are created again in the next retention run.
    ...[
      'destination_accepted_at',
      'source_accepted_at',
      'status_accepted_at',
      'type_accepted_at',
    ].map(dropped),
    ...['user_id_accepted_at', 'id', 'message', 'destination_status_accepted_at_test'].map(dropped),
    'alter table waypost.parts add column indexed boolean not null default false',
  ],
  [
    // Four indexes also contain a type or a status from here on. They are created again in the same
    // way.
    `do $$
     declare part text; filter text;
     begin
       for part in select name from waypost.parts loop
         foreach filter in array array['destination', 'source', 'status', 'type'] loop
           execute format('drop index if exists waypost.%I', part || '_by_' || filter);
         end loop;
       end loop;
     end $$`,
    'update waypost.parts set indexed = false',
  ],
  [
    `create table waypost.seen_events (
       source text not null,
       name text not null,
       count bigint not null,
       last_at bigint not null,
       primary key (source, name)
     )`,
    'create table waypost.seen_positions (partition int primary key, next bigint not null)',
  ],
  [
    `create table waypost.syncs (
       definition text not null, thinned boolean not null, bucket bigint not null, at bigint not null,
       said bigint not null, members bigint not null, looked bigint not null, changed bigint not null,
       sent bigint not null, waiting bigint not null,
       primary key (definition, thinned, bucket)
     )`,
  ],
  [
    'create table waypost.leases (name text primary key, owner text not null, until bigint ' +
      'not null)',
    // Generated, so that it stays right while an older control process writes only `job`.
    `alter table waypost.replays
       add column status text generated always as (job::jsonb ->> 'status') stored,
       add column owner text,
       add column lease_until bigint`,
    `create index on waypost.replays (at) where status in ('counting', 'running')`,
    // Shows which deletions a process has not read yet.
    'alter table waypost.deletions add column seq bigint generated by default as identity',
    'create index on waypost.deletions (seq)',
  ],
  [
    'create table waypost.session_keys (period int primary key, made_at bigint not null, ' +
      'key text not null)',
    'create table waypost.ended_sessions (id text primary key, until bigint not null)',
    'create table waypost.token_uses (token text primary key, at bigint not null)',
  ],
  [
    // Used to delete visitors without a user id. Existing partitions get its index in the next
    // retention run.
    'alter table waypost.deliveries add column anonymous_id text',
    `alter table waypost.deletions add column anonymous text not null default '[]'`,
    'update waypost.parts set indexed = false',
  ],
  [
    // Existing partitions get the indexes in the next retention run.
    ...['event text', 'last_status int', 'last_error text'].map(
      (column) => `alter table waypost.deliveries add column ${column}`,
    ),
    // A wait without an attempt is `held` from here on. `retry_after` after an attempt is an
    // attempt's wait.
    `update waypost.deliveries set status = 'held' where status in ('waiting', 'retrying') and (
       reason in ('paused', 'circuit_open', 'lane_full', 'rate_limited', 'secrets_unreadable', 'destination_unreadable')
       or (status = 'waiting' and reason = 'retry_after'))`,
    'update waypost.parts set indexed = false',
  ],
  [
    `create table waypost.destination_versions (
       destination text not null,
       version int not null,
       at bigint not null,
       data text,
       primary key (destination, version)
     )`,
    'alter table waypost.circuits add column version int',
  ],
  [
    `create table waypost.search_chunks (
       seq bigint generated always as identity primary key,
       from_ms bigint not null,
       to_ms bigint not null,
       raw int not null,
       bytes int not null,
       data text not null
     )`,
    // It is compressed already.
    'alter table waypost.search_chunks alter column data set storage external',
    'create index on waypost.search_chunks (to_ms, seq)',
    `create table waypost.search_positions (
       partition int primary key,
       next bigint not null,
       since_ms bigint not null,
       read_ms bigint not null
     )`,
  ],
  [
    'create table waypost.signals (key text primary key, at bigint not null, event text not null)',
    // Why a delivery was given up without an attempt.
    'alter table waypost.deliveries add column dead_error text',
  ],
  [
    // Existing partitions get the index in the next retention run.
    'alter table waypost.deliveries add column batches text[]',
    'update waypost.parts set indexed = false',
  ],
  [
    // The results of replays and retries are counted by it. Existing partitions get its index in
    // the next retention run.
    'alter table waypost.deliveries add column job text',
    'update waypost.parts set indexed = false',
  ],
  [
    // Existing partitions get the index by the time of the end in the next retention run.
    'update waypost.parts set indexed = false',
  ],
];
