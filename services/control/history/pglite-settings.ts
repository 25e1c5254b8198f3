/**
 * Less than the defaults of 1 GB for the WAL and 128 MB for buffers, and enough for one writer and
 * few readers. No replica needs the WAL. A crash of the process loses nothing; a power failure of
 * the machine may.
 */
export const PGLITE_SETTINGS = [
  "max_wal_size = '64MB'",
  "min_wal_size = '32MB'",
  "shared_buffers = '32MB'",
  "maintenance_work_mem = '32MB'",
  'max_wal_senders = 0',
  "wal_level = 'minimal'",
];
