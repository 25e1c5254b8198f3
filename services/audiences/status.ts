import { type Phase, type StatusValue } from '../../shared/model/profile-records';
import { type Definitions } from './definitions/compile';
import { type PartitionState } from './profiles/partition-state';
import { type Store } from './profiles/store';

/** Reports how far a partition is with its definitions. */

/** The last sync of an interval, or the running one. */
export interface SyncResult {
  /** ms since 1970; 0: none yet */
  beganAt: number;
  running: boolean;
  /** users it checked, and calls it made */
  looked: number;
  told: number;
}

export interface Report {
  profiles: number;
  /** users whose profiles are full */
  full: number;
  storeBytes: number;
  /** sent, and not yet acknowledged */
  waiting: number;
  syncs: ReadonlyMap<number, SyncResult>;
  definitions: Record<string, DefinitionReport>;
}

interface DefinitionReport {
  revision: number;
  phase: Phase;
  members: number;
  told: number;
  /** profiles that the first sync has checked */
  counted: number;
  /** the last upload of members that was applied */
  upload: number;
}

export function reportOf(
  meta: PartitionState,
  store: Store,
  syncs: ReadonlyMap<number, SyncResult>,
): Report {
  const definitions = Object.entries(meta.defs).map(
    ([id, { revision, phase, told, upload }]): [string, DefinitionReport] => {
      const counted =
        phase === 'scanning' ? (meta.scan?.counted ?? 0) : phase === 'live' ? store.size : 0;
      return [id, { revision, phase, members: store.memberCount(id), told, counted, upload }];
    },
  );
  return {
    profiles: store.size,
    full: store.full,
    storeBytes: store.bytes,
    waiting: meta.told - meta.sent,
    syncs,
    definitions: Object.fromEntries(definitions),
  };
}

/** @returns the records, each with the part (`same`) that must change before it is sent again */
export function statusRecords(
  partition: number,
  { definitions, profiles, full, waiting, syncs }: Report,
  known: Definitions,
  nowMs: number,
): { key: string; value: string; same: string }[] {
  return Object.entries(definitions).flatMap(([definition, report]) => {
    const interval = known.of(definition)?.syncEveryMs;
    if (interval === undefined) return [];
    const sync = syncs.get(interval);
    const lastSync =
      sync && !sync.running
        ? { at: new Date(sync.beganAt).toISOString(), looked: sync.looked, told: sync.told }
        : null;
    const content = { definition, partition, profiles, full, waiting, ...report, lastSync };
    const value: StatusValue = { ...content, at: new Date(nowMs).toISOString() };
    return [
      {
        key: `${definition}/${partition}`,
        value: JSON.stringify(value),
        same: JSON.stringify(content),
      },
    ];
  });
}
