import { type StatusValue } from '../../shared/model/profile-records';
import { type Definitions } from './definitions/compile';
import { type PartitionState } from './profiles/partition-state';
import { type Store } from './profiles/store';
import { type SyncResult } from './profiles/syncs';

/** Reports how far a partition is with its definitions. */

export interface Report {
  profiles: number;
  /** users whose profiles are full */
  full: number;
  storeBytes: number;
  /** sent, and not yet acknowledged */
  waiting: number;
  /** number of all partitions */
  partitions: number;
  /** of this process (`PartitionState.term`) */
  term: number;
  definitions: Record<string, DefinitionReport>;
}

type DefinitionReport = Pick<
  StatusValue,
  'revision' | 'phase' | 'members' | 'told' | 'waiting' | 'counted' | 'upload' | 'lastSync'
>;

export function reportOf(
  meta: PartitionState,
  store: Pick<Store, 'size' | 'full' | 'bytes' | 'unsent' | 'memberCount'>,
  syncs: ReadonlyMap<string, SyncResult>,
): Report {
  const unsent = meta.told === meta.sent ? [] : store.unsent(meta.sent);
  const definitions = Object.entries(meta.defs).map(
    ([id, { revision, phase, told, upload }]): [string, DefinitionReport] => {
      const counted =
        phase === 'scanning' ? (meta.scan?.counted ?? 0) : phase === 'live' ? store.size : 0;
      const waiting = unsent.filter(({ definition }) => definition === id).length;
      const members = store.memberCount(id);
      const lastSync = lastSyncOf(syncs.get(id));
      return [id, { revision, phase, members, told, waiting, counted, upload, lastSync }];
    },
  );
  return {
    profiles: store.size,
    full: store.full,
    storeBytes: store.bytes,
    waiting: meta.told - meta.sent,
    partitions: meta.partitions ?? 0,
    term: meta.term ?? 0,
    definitions: Object.fromEntries(definitions),
  };
}

function lastSyncOf(sync: SyncResult | undefined): StatusValue['lastSync'] {
  if (!sync) return null;
  return { at: new Date(sync.beganAt).toISOString(), looked: sync.looked, told: sync.told };
}

export interface StatusUpdate {
  key: string;
  value: string | null;
  same: string;
}

/**
 * @returns the records, each with the part (`same`) that must change before it is sent again. The
 *   status of a deleted definition is a tombstone, also if another process has reported it
 */
export function statusRecords(
  partition: number,
  { definitions, profiles, full, partitions, term }: Report,
  known: Definitions,
  nowMs: number,
): StatusUpdate[] {
  return Object.entries(definitions).map(([definition, report]) => {
    const key = `${definition}/${partition}`;
    if (!known.of(definition)) return tombstone(key);
    const content = { definition, partition, partitions, term, profiles, full, ...report };
    const value: StatusValue = { ...content, at: new Date(nowMs).toISOString() };
    return {
      key,
      value: JSON.stringify(value),
      same: JSON.stringify(content),
    };
  });
}

export function tombstone(key: string): StatusUpdate {
  return { key, value: null, same: '' };
}

/** Returns the definition that a status with this key is about. */
export function definitionIn(key: string): string {
  return key.slice(0, key.lastIndexOf('/'));
}
