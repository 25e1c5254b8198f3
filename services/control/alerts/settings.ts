import { alertsBody } from '../../../shared/api/alerts';
import { durationText } from '../../../shared/api/fields';
import { defined } from '../../../shared/collections/defined';
import { type Encryptor } from '../../../shared/config/encryption';
import { type Entry } from '../../../shared/config/types';
import {
  ALERTS_ID,
  type AlertFormat,
  type AlertSettings,
  DEFAULT_ALERTS,
  type Destination,
  type EncryptedWebhook,
} from '../../../shared/model/config';
import { type Json, type JsonObject } from '../../../shared/model/message';
import { secretFields } from '../../../shared/model/secret-fields';
import { secretErrors } from '../destinations/model';
import { secretsNow, secretsView } from '../destinations/rotation';
import { openWebhooks } from '../destinations/stored-webhook';
import { sealWebhooks, webhookErrors, webhookViews } from '../destinations/webhooks';
import { mergePatch } from '../http/entry-patch';
import { errorAt, type FieldError } from '../http/problem';
import { fieldsOf, has, invalidFields, parseBody } from '../http/validate';

/**
 * The settings of alerts: one entry of `config`, stored as a destination that Waypost owns. Pure
 * except for the randomness of encryption; ids and the time are arguments.
 */

export interface AlertsMaking {
  now: Date;
  encryptor: Encryptor;
  newWebhookId: () => string;
  /** true if WAYPOST_SMTP_URL is set */
  sendsMail: boolean;
}

/** Returns the settings before anybody has changed them. */
export function blankAlerts(now: Date): Destination {
  const at = now.toISOString();
  return {
    id: ALERTS_ID,
    name: 'Waypost alerts',
    type: 'webhooks',
    enabled: true,
    paused: false,
    sources: [],
    webhooks: [],
    shards: 1,
    alerts: DEFAULT_ALERTS,
    createdAt: at,
    updatedAt: at,
  };
}

export function settingsOf(destination: Destination | undefined): AlertSettings {
  return destination?.alerts ?? DEFAULT_ALERTS;
}

/** @throws Problem `invalid_fields` */
export function patchAlerts(
  before: Destination,
  given: unknown,
  making: AlertsMaking,
): Destination {
  const { now, encryptor, newWebhookId, sendsMail } = making;
  const patch = (given ?? {}) as Json;
  const merged = mergePatch(patchable(before), patch);
  const stored = openWebhooks(before, encryptor);
  const errors = [
    ...webhookErrors(merged, stored, { now }),
    ...secretErrors(patch),
    ...mailErrors(patch, sendsMail),
  ];
  const fields = parseBody(alertsBody, merged, errors);
  const { failingFor, deadLettersEvery, switchOffAfter: switchOffAfterMs } = fields;
  const { secrets: had, ...rest } = before;
  const kept = has(patch, 'sharedSecret') ? undefined : secretsNow(had, now);
  const secrets =
    fields.sharedSecret === undefined
      ? kept
      : { current: encryptor.encrypt(fields.sharedSecret, secretFields.sharedSecret(ALERTS_ID)) };
  const sealing = { ownerId: ALERTS_ID, encryptor, newId: newWebhookId };
  const isGiven = has(patch, 'webhooks');
  const webhooks = isGiven ? sealWebhooks(fields.webhooks, stored, sealing) : before.webhooks;
  const formats = isGiven
    ? formatsOf(fields.webhooks, webhooks, before.alerts?.formats)
    : formatsKept(before);
  if (isGiven) requireRoutingKeys(webhooks, formats.formats);
  return {
    ...rest,
    enabled: fields.enabled,
    webhooks,
    ...defined({ secrets }),
    alerts: {
      failingForMs: failingFor,
      deadLettersEveryMs: deadLettersEvery,
      ...defined({
        switchOffAfterMs,
        email: fields.email.length > 0 ? [...new Set(fields.email)] : undefined,
      }),
      ...formats,
    },
    updatedAt: now.toISOString(),
  };
}

/**
 * Returns the formats by the ids that the webhooks have now, without the default. A format that is
 * not given stays.
 */
function formatsOf(
  given: readonly { format?: AlertFormat | undefined }[],
  sealed: readonly { id: string }[],
  before: AlertSettings['formats'] = {},
): Pick<AlertSettings, 'formats'> {
  const formats = sealed.flatMap(({ id }, i) => {
    const format = given[i]?.format ?? before[id] ?? 'default';
    return format === 'default' ? [] : [[id, format] as const];
  });
  return formats.length > 0 ? { formats: Object.fromEntries(formats) } : {};
}

function formatsKept({ alerts }: Destination): Pick<AlertSettings, 'formats'> {
  return alerts?.formats ? { formats: alerts.formats } : {};
}

/** PagerDuty takes no event without a routing key. @throws Problem `invalid_fields` */
function requireRoutingKeys(
  webhooks: readonly Pick<EncryptedWebhook, 'id' | 'auth'>[],
  formats: AlertSettings['formats'] = {},
): void {
  const detail = 'the format pagerduty needs {"type": "pagerduty", "routingKey": "…"}';
  const errors = webhooks.flatMap(({ id, auth }, i) =>
    formats[id] === 'pagerduty' && auth?.type !== 'pagerduty'
      ? [errorAt(['webhooks', i, 'auth'], detail)]
      : [],
  );
  if (errors.length > 0) throw invalidFields(errors);
}

/** Refuses new addresses that nothing could be sent to. */
function mailErrors(patch: Json, sendsMail: boolean): FieldError[] {
  const { email: given } = fieldsOf(patch);
  if (sendsMail || !Array.isArray(given) || given.length === 0) return [];
  return [errorAt(['email'], 'needs a mail server: set WAYPOST_SMTP_URL at control and delivery')];
}

function patchable(before: Destination): JsonObject {
  const { failingFor, deadLettersEvery, switchOffAfter: limit } = inWords(settingsOf(before));
  const { enabled } = before;
  const { email = [] } = settingsOf(before);
  return {
    enabled,
    email,
    failingFor,
    deadLettersEvery,
    ...defined({ switchOffAfter: limit ?? undefined }),
  };
}

function inWords({ failingForMs, deadLettersEveryMs, switchOffAfterMs }: AlertSettings) {
  return {
    failingFor: durationText(failingForMs),
    deadLettersEvery: durationText(deadLettersEveryMs),
    switchOffAfter: switchOffAfterMs === undefined ? null : durationText(switchOffAfterMs),
  };
}

/**
 * Returns the API view, as of a destination: without secrets and header values; paths and queries
 * only for administrators.
 */
export function alertsView(
  entry: Entry<Destination>,
  { encryptor, now }: Pick<AlertsMaking, 'encryptor' | 'now'>,
  seesSecrets: boolean,
) {
  const { enabled, secrets, createdAt, updatedAt } = entry.data;
  const { email = [], formats = {} } = settingsOf(entry.data);
  return {
    enabled,
    ...secretsView(secrets, now),
    webhooks: webhookViews(entry.data, encryptor, seesSecrets).map((webhook) => ({
      ...webhook,
      format: formats[webhook.id] ?? ('default' as const),
    })),
    email,
    ...inWords(settingsOf(entry.data)),
    version: entry.version,
    createdAt,
    updatedAt,
  };
}
