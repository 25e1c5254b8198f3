import { defined } from '../../shared/collections/defined';
import { recallRecord } from '../../shared/kafka/topics';
import { decodeDelivery, encodeDelivery, shardKeys } from '../../shared/model/delivery';
import { type OpenRecord, type OutRecord } from '../../shared/kafka/port';
import { DEFAULT_SHARDS } from '../../shared/model/config';
import { type GroupName } from './cluster';

/** What users and operators do, and what happens to machines, while deliveries are under way. */

export type Act =
  | { kind: 'pause' | 'resume'; destination: string }
  /** of what waits in tiers: one delivery, or all */
  | { kind: 'send_now' | 'cancel'; destination: string; all: boolean }
  /** of deliveries that are dead */
  | { kind: 'replay'; most: number }
  /** a partition goes to the next process of its group */
  | { kind: 'move'; group: GroupName; partition: number }
  /** the newest records of a topic are lost, read or not */
  | { kind: 'cut'; topic: number; partition: number; most: number }
  /** a clock jumps, and stays wrong */
  | { kind: 'clock'; of: GroupName | 'brokers'; byMs: number };

export type TimedAct = Act & { atMs: number };

/**
 * Returns the request of a user, as control writes it.
 * @param record of one of the deliveries
 * @param expiresBy ends of the windows of the deliveries that are under way, ms since 1970
 */
export function recallOf(
  { kind, destination, all }: Extract<Act, { kind: 'send_now' | 'cancel' }>,
  { key, headers }: OpenRecord,
  id: string,
  expiresBy: number,
): OutRecord {
  const delivery = { id: headers.delivery ?? '', replay: Number(headers.replay ?? 0) };
  if (!all) {
    return recallRecord({
      kind: 'recall',
      id,
      action: kind === 'cancel' ? 'cancel' : 'retry',
      where: { destination, delivery },
      keys: [key?.toString() ?? ''],
    });
  }
  return recallRecord({
    kind: 'recall',
    id,
    action: kind === 'cancel' ? 'cancel' : 'retry_all',
    where: { destination },
    keys: shardKeys(destination, DEFAULT_SHARDS),
    ...defined({ expiresBy: kind === 'cancel' ? expiresBy : undefined }),
  });
}

/** Returns the first record of a replay. @param expiresAt ms since 1970 */
export function replayOf(
  letter: OutRecord,
  expiresAt: number,
): { id: string; destination: string; key: string; headers: Record<string, string> } | undefined {
  const decoded = decodeDelivery(letter.headers ?? {});
  if (decoded.kind !== 'delivery') return undefined;
  const { reason, error, notBefore, due, final, ...delivery } = decoded.delivery;
  const headers = encodeDelivery({
    ...delivery,
    excludedUrls: [],
    expiresAt,
    attempt: 0,
    hop: 0,
    replay: delivery.replay + 1,
  });
  return { id: delivery.id, destination: delivery.destinationId, key: letter.key ?? '', headers };
}
