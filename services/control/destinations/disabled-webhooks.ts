import {
  type Destination,
  type DisabledWebhook,
  type EncryptedWebhook,
} from '../../../shared/model/config';
import { errorAt } from '../http/problem';
import { invalidFields } from '../http/validate';

/** Switches single URLs of a destination off and on. Pure: the time is an argument. */

/** Switches a URL off. One that is off stays as it is. @throws Problem `invalid_fields` */
export function disableWebhook(
  destination: Destination,
  webhook: string,
  disabled: DisabledWebhook,
  now: Date,
): Destination {
  if (webhookOf(destination, webhook).disabled) return destination;
  return withWebhook(destination, webhook, (before) => ({ ...before, disabled }), now);
}

/**
 * Switches a URL on. It counts this also for a URL that is on: delivery may have stopped sending to
 * it, although control has not read so yet.
 * @throws Problem `invalid_fields`
 */
export function enableWebhook(destination: Destination, webhook: string, now: Date): Destination {
  webhookOf(destination, webhook);
  const enable = ({ disabled: _, ...before }: EncryptedWebhook) => ({
    ...before,
    enables: (before.enables ?? 0) + 1,
  });
  return withWebhook(destination, webhook, enable, now);
}

/** @throws Problem `invalid_fields` if the destination has no webhook with this id */
export function webhookOf({ webhooks }: Destination, id: string): EncryptedWebhook {
  const found = webhooks.find((webhook) => webhook.id === id);
  if (found) return found;
  const detail = 'is not the id of a webhook of this destination';
  throw invalidFields([errorAt(['webhook'], detail)]);
}

function withWebhook(
  destination: Destination,
  id: string,
  change: (webhook: EncryptedWebhook) => EncryptedWebhook,
  now: Date,
): Destination {
  const webhooks = destination.webhooks.map((webhook) =>
    webhook.id === id ? change(webhook) : webhook,
  );
  return { ...destination, webhooks, updatedAt: now.toISOString() };
}
