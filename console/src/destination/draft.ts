import { type Alerts, type Destination, type Operations } from '../../../shared/api/operations';
import { parseDuration } from '../../../shared/model/time';
import { checkStaticHeaders, checkWebhookUrl } from '../../../shared/model/webhook-request';

/** A destination while somebody edits it, and the request to send. Pure: the form only shows it. */

export interface HeaderDraft {
  name: string;
  value: string;
  /** its value is stored, and stays unless the user enters another */
  kept: boolean;
}

export interface WebhookDraft {
  id?: string;
  url: string;
  headers: HeaderDraft[];
  /** as stored; the form does not change them */
  auth?: Destination['webhooks'][number]['auth'];
  tls?: Destination['webhooks'][number]['tls'];
  /** of alerts only */
  format?: Alerts['webhooks'][number]['format'];
}

export interface Draft {
  name: string;
  sources: string[];
  webhooks: WebhookDraft[];
  /** a new secret; empty: unchanged */
  sharedSecret: string;
  /** null: all */
  types: NonNullable<Destination['types']> | null;
  /** as entered; empty: none */
  filter: string;
  /** as entered; empty: no limit */
  maxPerSecond: string;
  /** as entered; empty: as in the alert settings */
  switchOffAfter: string;
  batch: BatchDraft;
}

/** Fields as entered; without `maxEvents` each event is sent alone. */
export interface BatchDraft {
  maxEvents: string;
  maxWait: string;
  maxBytes: string;
}

export const MAX_WEBHOOKS = 5;

export type Patch = NonNullable<Operations['PATCH /destinations/{id}']['body']>;
type Creation = Operations['POST /destinations']['body'];

/** The values that the API uses if they are not entered. */
const NO_BATCH: BatchDraft = { maxEvents: '', maxWait: '1s', maxBytes: '1000000' };

export function emptyDraft(sources: string[]): Draft {
  const name = 'Webhooks';
  const rest = { sharedSecret: '', types: null, filter: '', maxPerSecond: '', switchOffAfter: '', batch: NO_BATCH };
  return { name, sources, webhooks: [{ url: '', headers: [] }], ...rest };
}

export function draftOf(destination: Destination): Draft {
  return {
    name: destination.name,
    sources: [...destination.sources],
    webhooks: webhookDrafts(destination.webhooks),
    sharedSecret: '',
    types: destination.types && [...destination.types],
    filter: destination.filter ?? '',
    maxPerSecond: destination.maxPerSecond === null ? '' : String(destination.maxPerSecond),
    switchOffAfter: destination.switchOffAfter ?? '',
    batch: batchDraft(destination.batch),
  };
}

function batchDraft(batch: Destination['batch']): BatchDraft {
  if (!batch) return NO_BATCH;
  return { maxEvents: String(batch.maxEvents), maxWait: batch.maxWait, maxBytes: String(batch.maxBytes) };
}

/** The API never returns header values: they stay as stored. */
export function webhookDrafts(webhooks: Destination['webhooks']): WebhookDraft[] {
  return webhooks.map(({ id, url, headers, auth, tls }) => ({
    id,
    url: url ?? '',
    headers: Object.keys(headers).map((name) => ({ name, value: '', kept: true })),
    ...(auth && { auth }),
    ...(tls && { tls }),
  }));
}

/** Validates the draft. Returns a sentence by API field, such as `webhooks/0/url`. */
export function problemsOf(draft: Draft): Map<string, string> {
  const problems = new Map<string, string>();
  if (draft.name.trim() === '') problems.set('name', 'Enter a name');
  for (const [field, problem] of webhookProblems(draft.webhooks)) problems.set(field, problem);
  if (draft.types?.length === 0) problems.set('types', 'Choose at least one');
  const rate = Number(draft.maxPerSecond);
  if (draft.maxPerSecond !== '' && !(rate >= 0.1 && rate <= 100_000)) {
    problems.set('maxPerSecond', 'Enter a number from 0.1 to 100,000');
  }
  const limit = draft.switchOffAfter;
  if (limit !== '' && parseDuration(limit) === undefined) problems.set('switchOffAfter', DURATION_PROBLEM);
  for (const [field, problem] of batchProblems(draft.batch)) problems.set(`batch/${field}`, problem);
  return problems;
}

function batchProblems({ maxEvents, maxWait, maxBytes }: BatchDraft): [keyof BatchDraft, string][] {
  if (maxEvents === '') return [];
  const waitMs = parseDuration(maxWait) ?? 0;
  return [
    ...(isWhole(maxEvents, 2, 100) ? [] : [['maxEvents', 'Enter a whole number from 2 to 100'] as const]),
    ...(waitMs >= 100 && waitMs <= 60_000 ? [] : [['maxWait', 'Enter a duration from 100ms to 60s'] as const]),
    ...(isWhole(maxBytes, 1, 5_000_000) ? [] : [['maxBytes', 'Enter a whole number up to 5,000,000'] as const]),
  ].map(([field, problem]) => [field, problem]);
}

function isWhole(text: string, least: number, most: number): boolean {
  const number = Number(text);
  return Number.isInteger(number) && least <= number && number <= most;
}

export const DURATION_PROBLEM = 'Enter a duration such as 90s, 30m, 12h or 5d';

export function webhookProblems(webhooks: readonly WebhookDraft[]): Map<string, string> {
  const problems = new Map<string, string>();
  webhooks.forEach((webhook, i) => {
    const problem = urlProblem(webhook.url);
    if (problem !== undefined) problems.set(`webhooks/${i}/url`, problem);
    webhook.headers.forEach((header, j) => {
      const wrong = headerProblem(header, webhook.headers, j);
      if (wrong !== undefined) problems.set(`webhooks/${i}/headers/${j}`, wrong);
    });
  });
  return problems;
}

/** Validates a URL with the rules of the API while the user types it. */
export function urlProblem(url: string): string | undefined {
  if (url === '') return 'Enter a URL';
  const check = checkWebhookUrl(url);
  return check.ok ? undefined : `It ${check.problem}`;
}

function headerProblem(header: HeaderDraft, all: HeaderDraft[], at: number): string | undefined {
  if (header.name === '') return 'Enter a name or remove the header';
  const twice = all.findIndex(({ name }) => name.toLowerCase() === header.name.toLowerCase()) !== at;
  if (twice) return `${header.name} already exists`;
  const problem = checkStaticHeaders({ [header.name]: header.value })[0]?.problem;
  if (problem !== undefined) return `It ${problem}`;
  return !header.kept && header.value === '' ? 'Enter a value' : undefined;
}

/** Returns the body that creates the destination, disabled until the user enables it. */
export function creationOf(draft: Draft): Creation {
  const batch = batchOf(draft.batch);
  return {
    name: draft.name.trim(),
    type: 'webhooks',
    enabled: false,
    sources: draft.sources,
    webhooks: draft.webhooks.map(webhookOf),
    ...(draft.sharedSecret !== '' && { sharedSecret: draft.sharedSecret }),
    ...(draft.types && { types: draft.types }),
    ...(draft.filter.trim() !== '' && { filter: draft.filter.trim() }),
    ...(draft.maxPerSecond !== '' && { maxPerSecond: Number(draft.maxPerSecond) }),
    ...(batch && { batch }),
  };
}

/**
 * Returns the merge patch from the stored entry to the draft: only changed fields, so that it overwrites no change of
 * others.
 */
export function patchOf(before: Destination, draft: Draft): Patch {
  const old = draftOf(before);
  const rate = draft.maxPerSecond === '' ? null : Number(draft.maxPerSecond);
  return {
    ...(draft.name.trim() !== old.name && { name: draft.name.trim() }),
    ...(!same([...draft.sources].sort(), [...old.sources].sort()) && { sources: draft.sources }),
    ...(!same(draft.webhooks, old.webhooks) && { webhooks: draft.webhooks.map(webhookOf) }),
    ...(draft.sharedSecret !== '' && { sharedSecret: draft.sharedSecret }),
    ...(!same(draft.types, old.types) && { types: draft.types }),
    ...(draft.filter.trim() !== old.filter && { filter: draft.filter.trim() || null }),
    ...(rate !== before.maxPerSecond && { maxPerSecond: rate }),
    ...(draft.switchOffAfter !== old.switchOffAfter && { switchOffAfter: draft.switchOffAfter || null }),
    ...(!same(batchOf(draft.batch), before.batch) && { batch: batchOf(draft.batch) }),
  };
}

function batchOf({ maxEvents, maxWait, maxBytes }: BatchDraft) {
  if (maxEvents === '') return null;
  return { maxEvents: Number(maxEvents), maxBytes: Number(maxBytes), maxWait };
}

/** Converts a webhook to the API's format. */
export function webhookOf({ id, url, headers, auth, tls }: WebhookDraft): Creation['webhooks'][number] {
  return {
    ...(id !== undefined && { id }),
    url,
    // A token URL that was lost with its key is null, and the API refuses it.
    ...(auth && { auth: auth as Creation['webhooks'][number]['auth'] }),
    ...(tls && { tls }),
    headers: Object.fromEntries(
      headers.map(({ name, value, kept }) => [name, kept && value === '' ? { keep: true as const } : value]),
    ),
  };
}

export function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
