import { type Alerts, type Operations } from '../../../shared/api/operations';
import { defined } from '../../../shared/collections/defined';
import { parseDuration } from '../../../shared/model/time';
import { DURATION_PROBLEM } from '../destination/plain-draft';
import { partsOf, same } from '../destination/field-values';
import {
  type WebhookDraft,
  webhookDrafts,
  webhookOf,
  webhookProblems,
} from '../destination/webhook-draft';

/** The alert settings while somebody edits them, and the patch to send. Pure. */

export interface AlertsDraft {
  enabled: boolean;
  webhooks: WebhookDraft[];
  /** addresses as entered, separated by commas */
  email: string;
  /** a new secret; empty: unchanged */
  sharedSecret: string;
  failingFor: string;
  deadLettersEvery: string;
  /** empty: never */
  switchOffAfter: string;
}

export type AlertsPatch = Operations['PATCH /alerts']['body'];

export function alertsDraftOf(alerts: Alerts): AlertsDraft {
  const { enabled, failingFor, deadLettersEvery, switchOffAfter } = alerts;
  const drafts = webhookDrafts(alerts.webhooks);
  const webhooks = drafts.map((webhook, i) => ({
    ...webhook,
    format: alerts.webhooks[i]?.format ?? 'default',
  }));
  const email = alerts.email.join(', ');
  return {
    enabled,
    webhooks,
    email,
    sharedSecret: '',
    failingFor,
    deadLettersEvery,
    switchOffAfter: switchOffAfter ?? '',
  };
}

/** Validates the draft. Returns a sentence by API field. */
export function alertsProblems(draft: AlertsDraft): Map<string, string> {
  const problems = webhookProblems(draft.webhooks);
  for (const field of ['failingFor', 'deadLettersEvery', 'switchOffAfter'] as const) {
    const text = draft[field];
    const unset = text === '' && field === 'switchOffAfter';
    if (!unset && parseDuration(text) === undefined) problems.set(field, DURATION_PROBLEM);
  }
  return problems;
}

function alertWebhookOf(webhook: WebhookDraft) {
  return { ...webhookOf(webhook), format: webhook.format ?? 'default' };
}

/** Contains only changed fields, so that it overwrites no change of others. */
export function alertsPatch(before: Alerts, draft: AlertsDraft): AlertsPatch {
  const old = alertsDraftOf(before);
  return defined({
    enabled: draft.enabled !== old.enabled ? draft.enabled : undefined,
    webhooks: !same(draft.webhooks, old.webhooks) ? draft.webhooks.map(alertWebhookOf) : undefined,
    email: !same(partsOf(draft.email), partsOf(old.email)) ? partsOf(draft.email) : undefined,
    sharedSecret: draft.sharedSecret !== '' ? draft.sharedSecret : undefined,
    failingFor: draft.failingFor !== old.failingFor ? draft.failingFor : undefined,
    deadLettersEvery:
      draft.deadLettersEvery !== old.deadLettersEvery ? draft.deadLettersEvery : undefined,
    switchOffAfter:
      draft.switchOffAfter !== old.switchOffAfter ? draft.switchOffAfter || null : undefined,
  });
}
