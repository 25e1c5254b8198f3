import { alertsBody } from '../../../shared/api/alerts';
import { durationText } from '../../../shared/api/fields';
import { type Encryptor } from '../../../shared/config/encryption';
import { type Entry } from '../../../shared/config/types';
import { ALERTS_ID, type AlertSettings, DEFAULT_ALERTS, type Destination } from '../../../shared/model/config';
import { type Json, type JsonObject } from '../../../shared/model/message';
import { destinationView } from '../destinations/model';
import { secretsNow } from '../destinations/rotation';
import { openWebhooks } from '../destinations/stored-webhook';
import { sealWebhooks, webhookErrors } from '../destinations/webhooks';
import { mergePatch } from '../http/entry-patch';
import { parseBody } from '../http/validate';

/**
 * The settings of alerts: one entry of `config`, stored as a destination that Waypost owns. Pure except for the
 * randomness of encryption; ids and the time are arguments.
 */

export interface AlertsMaking {
  now: Date;
  encryptor: Encryptor;
  newWebhookId: () => string;
}

/** Returns the settings before anybody has changed them. */
export function blankAlerts(now: Date): Destination {
  const at = now.toISOString();
  return {
    ...{ id: ALERTS_ID, name: 'Waypost alerts', type: 'webhooks', enabled: true, paused: false },
    ...{ sources: [], webhooks: [], shards: 1, alerts: DEFAULT_ALERTS, createdAt: at, updatedAt: at },
  };
}

export function settingsOf(destination: Destination | undefined): AlertSettings {
  return destination?.alerts ?? DEFAULT_ALERTS;
}

/** @throws Problem `invalid_fields` */
export function patchAlerts(before: Destination, given: unknown, making: AlertsMaking): Destination {
  const { now, encryptor, newWebhookId } = making;
  const patch = (given ?? {}) as Json;
  const merged = mergePatch(patchable(before), patch);
  const stored = openWebhooks(before, encryptor);
  const fields = parseBody(alertsBody, merged, webhookErrors(merged, stored, { now }));
  const { failingFor, deadLettersEvery, switchOffAfter: switchOffAfterMs } = fields;
  const { secrets: had, ...rest } = before;
  const kept = has(patch, 'sharedSecret') ? undefined : secretsNow(had, now);
  const secrets =
    fields.sharedSecret === undefined ? kept : { current: encryptor.encrypt(fields.sharedSecret, ALERTS_ID) };
  const sealing = { ownerId: ALERTS_ID, encryptor, newId: newWebhookId };
  return {
    ...rest,
    enabled: fields.enabled,
    webhooks: has(patch, 'webhooks') ? sealWebhooks(fields.webhooks, stored, sealing) : before.webhooks,
    ...(secrets && { secrets }),
    alerts: {
      ...{ failingForMs: failingFor, deadLettersEveryMs: deadLettersEvery },
      ...(switchOffAfterMs !== undefined && { switchOffAfterMs }),
    },
    updatedAt: now.toISOString(),
  };
}

function patchable(before: Destination): JsonObject {
  const { failingFor, deadLettersEvery, switchOffAfter: limit } = inWords(settingsOf(before));
  const { enabled } = before;
  return { enabled, failingFor, deadLettersEvery, ...(limit !== null && { switchOffAfter: limit }) };
}

function inWords({ failingForMs, deadLettersEveryMs, switchOffAfterMs }: AlertSettings) {
  return {
    failingFor: durationText(failingForMs),
    deadLettersEvery: durationText(deadLettersEveryMs),
    switchOffAfter: switchOffAfterMs === undefined ? null : durationText(switchOffAfterMs),
  };
}

function has(value: Json, key: string): boolean {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key);
}

/**
 * Returns the API view, as of a destination: without secrets and header values; paths and queries only for
 * administrators.
 */
export function alertsView(
  entry: Entry<Destination>,
  { encryptor, now }: Pick<AlertsMaking, 'encryptor' | 'now'>,
  seesSecrets: boolean,
) {
  const making = { encryptor, now, sourceExists: () => true, tiersMs: [] };
  const { enabled, webhooks, hasSharedSecret, secretRotation, version, createdAt, updatedAt } = destinationView(
    entry,
    making,
    seesSecrets,
  );
  return {
    ...{ enabled, webhooks, hasSharedSecret, secretRotation },
    ...inWords(settingsOf(entry.data)),
    ...{ version, createdAt, updatedAt },
  };
}
