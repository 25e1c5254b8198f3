import { defined } from '../../../shared/collections/defined';
import { type ConfigView } from '../../../shared/config/types';
import { type Encryptor } from '../../../shared/config/encryption';
import { type Log } from '../../../shared/telemetry/log';
import { type BatchProducer, type Kafka } from '../../../shared/kafka/port';
import { recallRecord } from '../../../shared/kafka/topics';
import { DEFAULT_SHARDS } from '../../../shared/model/config';
import { shardKeys } from '../../../shared/model/delivery';
import { type Recall } from '../../../shared/model/recall';
import { isUnderWay } from '../../../shared/model/reasons';
import { newId } from '../config/config-entries';
import { hashesExcept, urlHashes } from '../destinations/stored-webhook';
import { type DeliveryRow } from '../history/delivery-row';
import { errorAt, Problem } from '../http/problem';
import { invalidFields } from '../http/validate';
import { requireSendable } from '../replays/require';
import { findRecord } from './delivery-body';

export interface RecallDeps {
  config: Pick<ConfigView, 'destination'>;
  encryptor: Encryptor;
  kafka: Pick<Kafka, 'read' | 'ranges'>;
  producer: Pick<BatchProducer, 'send'>;
  now: () => Date;
  log: Log;
}

/** Returns the hashes of all other URLs. @throws Problem `invalid_fields` */
export function hashesOfOthers(
  { config, encryptor }: Pick<RecallDeps, 'config' | 'encryptor'>,
  destination: string,
  webhooks: readonly string[],
): string[] {
  const known = urlHashes(config.destination(destination)?.data, encryptor);
  const errors = webhooks.flatMap((id, i) =>
    known.has(id)
      ? []
      : [errorAt(['webhooks', i], 'is not the id of a webhook of this destination')],
  );
  if (errors.length > 0) throw invalidFields(errors);
  return hashesExcept(known, (id) => webhooks.includes(id));
}

/**
 * Asks the retry service to take one delivery out of its tier, and to send it or let it be
 * cancelled.
 */
export async function recallDelivery(
  deps: RecallDeps,
  row: DeliveryRow,
  action: 'retry' | 'cancel',
) {
  const { kafka, config, producer, now, log } = deps;
  const { id, destination, status, reason, replay, made: attempt } = row;
  if (!isUnderWay(status)) throw new Problem('conflict', `The delivery has ended (${status})`);
  const data = config.destination(destination)?.data;
  if (action === 'retry' || data?.paused) requireSendable(data);
  const record = await findRecord(kafka, row);
  const keys = record?.key
    ? [record.key.toString()]
    : shardKeys(destination, data?.shards ?? DEFAULT_SHARDS);
  const delivery = {
    id,
    replay: Math.max(0, replay),
    // A retry is for the wait that the user saw, so it never takes the wait after the attempt that
    // it caused.
    ...defined({ attempt: action === 'retry' ? attempt : undefined }),
  };
  const recall: Recall = {
    kind: 'recall',
    id: newId('rcl', now()),
    action,
    where: { destination, delivery },
    keys,
  };
  await producer.send([recallRecord(recall)]);
  log.info({ delivery: id, destination, action }, 'delivery.recalled');
  return { id, action, status, reason };
}
