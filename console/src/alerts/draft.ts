import { type Alerts, type Operations } from '../../../shared/api/operations';
import { parseDuration } from '../../../shared/model/duration';
import {
  DURATION_PROBLEM,
  same,
  type WebhookDraft,
  webhookDrafts,
  webhookOf,
  webhookProblems,
} from '../destination/draft';

/** What alerts are set to while somebody edits it, and what is sent of it. Pure. */

export interface AlertsDraft {
  enabled: boolean;
  webhooks: WebhookDraft[];
  /** a new one; empty: as it is */
  sharedSecret: string;
  failingFor: string;
  deadLettersEvery: string;
  /** empty: never */
  switchOffAfter: string;
}

export type AlertsPatch = Operations['PATCH /alerts']['body'];

export function alertsDraftOf(alerts: Alerts): AlertsDraft {
  const { enabled, failingFor, deadLettersEvery, switchOffAfter } = alerts;
  const webhooks = webhookDrafts(alerts.webhooks);
  return { enabled, webhooks, sharedSecret: '', failingFor, deadLettersEvery, switchOffAfter: switchOffAfter ?? '' };
}

/** What is wrong with it, by field as the API names fields. */
export function alertsProblems(draft: AlertsDraft): Map<string, string> {
  const problems = webhookProblems(draft.webhooks);
  for (const field of ['failingFor', 'deadLettersEvery', 'switchOffAfter'] as const) {
    const text = draft[field];
    const unset = text === '' && field === 'switchOffAfter';
    if (!unset && parseDuration(text) === undefined) problems.set(field, DURATION_PROBLEM);
  }
  return problems;
}

/** Only what differs, so that nobody else's change is touched. */
export function alertsPatch(before: Alerts, draft: AlertsDraft): AlertsPatch {
  const old = alertsDraftOf(before);
  return {
    ...(draft.enabled !== old.enabled && { enabled: draft.enabled }),
    ...(!same(draft.webhooks, old.webhooks) && { webhooks: draft.webhooks.map(webhookOf) }),
    ...(draft.sharedSecret !== '' && { sharedSecret: draft.sharedSecret }),
    ...(draft.failingFor !== old.failingFor && { failingFor: draft.failingFor }),
    ...(draft.deadLettersEvery !== old.deadLettersEvery && { deadLettersEvery: draft.deadLettersEvery }),
    ...(draft.switchOffAfter !== old.switchOffAfter && { switchOffAfter: draft.switchOffAfter || null }),
  };
}
