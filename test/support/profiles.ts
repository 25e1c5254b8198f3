import pino from 'pino';
import { type MemberReader } from '../../services/audiences/queries/members';
import { type Snapshot } from '../../services/audiences/queries/preview';
import { type Profile } from '../../services/audiences/profiles/profile';
import { QueryServer } from '../../services/audiences/queries/server';
import { defined } from '../../shared/collections/defined';
import { type MemoryLog } from './memory-log';

/** In-memory profiles of one partition, and a query server for them. */

/** What the definitions of audiences and traits have in common. */
export const A_DEFINITION = {
  name: 'x',
  key: 'k',
  source: 'own',
  revision: 1,
  history: [],
  syncEveryMs: 1_000,
  createdAt: '',
  updatedAt: '',
};

export type ProfileStore = Snapshot['store'] & MemberReader;

export function profileStore(profiles: Readonly<Record<string, Profile>>): ProfileStore {
  const names = Object.keys(profiles).sort();
  const from = (after: string | undefined, limit: number, all = names) =>
    all.filter((user) => after === undefined || user > after).slice(0, limit);
  return {
    size: names.length,
    get: (user) => profiles[user],
    users: from,
    members: (definition, after, limit) =>
      from(
        after,
        limit,
        names.filter((user) => profiles[user]?.sentValues?.[definition]),
      ),
    touched: () => [],
    lastTouch: 0,
    synced: {},
    due: () => [],
    write: () => {
      throw new Error('whoever answers writes nothing');
    },
  };
}

/** A log without events. */
export const EMPTY_LOG: Snapshot['log'] = {
  read: (_, end) => Promise.resolve({ records: [], next: end, done: true }),
};

export interface RunningQueryServer {
  server: QueryServer;
  /** by partition; the snapshot is undefined if another process has the partition */
  processors: Map<
    number,
    { snapshot: (Snapshot & { store: ProfileStore }) | undefined; queued: number }
  >;
  stop(): Promise<void>;
}

/** Starts a query server on this log, for one partition with these profiles. */
export async function startQueryServer(
  { kafka }: MemoryLog,
  profiles: Readonly<Record<string, Profile>> = {},
  { now = Date.now, cpu }: { now?: () => number; cpu?: () => number } = {},
): Promise<RunningQueryServer> {
  const producer = await kafka.producer({ maxPendingBytes: 1e6, deliveryTimeoutMs: 1_000 });
  const processors: RunningQueryServer['processors'] = new Map();
  const snapshot = { store: profileStore(profiles), log: EMPTY_LOG, ready: true, next: 0 };
  processors.set(0, { snapshot, queued: 0 });
  const log = pino({ level: 'silent' });
  const onFatal = (error: unknown) => {
    throw error;
  };
  const server = new QueryServer({
    kafka,
    producer,
    processors: () => processors,
    onPreview: () => undefined,
    now,
    ...defined({ cpu }),
    log,
    onFatal,
  });
  await server.start();
  return { server, processors, stop: () => server.stop() };
}
