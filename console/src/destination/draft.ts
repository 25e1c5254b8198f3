import { type Destination, type Operations } from '../../../shared/api/operations';
import { defined } from '../../../shared/collections/defined';
import { same } from './field-values';
import {
  type BatchDraft,
  batchDraft,
  batchOf,
  batchProblems,
  changesProxy,
  NO_BATCH,
  NO_PLAN,
  proxyProblem,
  type RetryDraft,
  retryDraft,
  retryPatch,
  retryProblems,
} from './plan-draft';
import {
  type PlainDraft,
  plainCreation,
  plainDraft,
  plainPatch,
  plainProblems,
} from './plain-draft';
import {
  DEFAULT_REQUEST,
  type RequestDraft,
  requestDraft,
  requestOf,
  requestPatch,
  requestProblems,
} from './request-draft';
import {
  DEFAULT_SIGNATURE,
  type SignatureDraft,
  signatureDraft,
  signatureOf,
  signaturePatch,
  signatureProblems,
} from './signature-draft';
import { type WebhookDraft, webhookDrafts, webhookOf, webhookProblems } from './webhook-draft';
import { text } from '../texts';

const words = text.endpoint.draft;

/** A destination while somebody edits it, and the request to send. Pure: the form only shows it. */

export interface Draft extends PlainDraft {
  name: string;
  sources: string[];
  webhooks: WebhookDraft[];
  /** a new secret; empty: unchanged */
  sharedSecret: string;
  signature: SignatureDraft;
  request: RequestDraft;
  batch: BatchDraft;
  retry: RetryDraft;
  /** as entered; empty: as the installation's settings say */
  proxy: string;
  /** as it was read */
  storedProxy: string;
}

export type Patch = NonNullable<Operations['PATCH /destinations/{id}']['body']>;
type Creation = Operations['POST /destinations']['body'];

export function emptyDraft(sources: string[], name: string): Draft {
  return {
    name,
    sources,
    webhooks: [{ url: '', headers: [] }],
    sharedSecret: '',
    proxy: '',
    storedProxy: '',
    signature: DEFAULT_SIGNATURE,
    request: DEFAULT_REQUEST,
    batch: NO_BATCH,
    retry: NO_PLAN,
    ...plainDraft({}),
  };
}

export function draftOf(destination: Destination): Draft {
  return {
    name: destination.name,
    sources: [...destination.sources],
    webhooks: webhookDrafts(destination.webhooks),
    sharedSecret: '',
    signature: signatureDraft(destination.signature),
    request: requestDraft(destination.request),
    batch: batchDraft(destination.batch),
    retry: retryDraft(destination.retry),
    proxy: destination.proxy ?? '',
    storedProxy: destination.proxy ?? '',
    ...plainDraft(destination),
  };
}

/** Returns whether the stored secrets would go to another proxy. */
export function proxyChanges({ proxy, storedProxy }: Draft): boolean {
  return changesProxy(storedProxy, proxy);
}

/** Validates the draft. Returns a sentence by API field, such as `webhooks/0/url`. */
export function problemsOf(draft: Draft): Map<string, string> {
  const { name, proxy } = draft;
  const problems = new Map<string, string>();
  if (name.trim() === '') problems.set('name', words.enterName);
  for (const [field, problem] of webhookProblems(draft.webhooks, proxyChanges(draft))) {
    problems.set(field, problem);
  }
  for (const [field, problem] of [
    plainProblems(draft),
    requestProblems(draft.request),
    signatureProblems(draft.signature),
    batchProblems(draft.batch),
    retryProblems(draft.retry),
  ].flat()) {
    problems.set(field, problem);
  }
  const wrong = proxyProblem(proxy);
  if (wrong !== undefined) problems.set('proxy', wrong);
  return problems;
}

/** Returns the body that creates the destination, disabled until the user enables it. */
export function creationOf(draft: Draft): Creation {
  const [batch, request, signature] = [
    batchOf(draft.batch),
    requestOf(draft.request),
    signatureOf(draft.signature),
  ];
  const retry = retryPatch(null, draft.retry);
  return {
    name: draft.name.trim(),
    type: 'webhooks',
    enabled: false,
    sources: draft.sources,
    webhooks: draft.webhooks.map(webhookOf),
    ...defined({
      sharedSecret: draft.sharedSecret !== '' ? draft.sharedSecret : undefined,
      signature,
      request,
      batch: batch || undefined,
      retry: retry || undefined,
      proxy: draft.proxy !== '' ? draft.proxy : undefined,
    }),
    ...plainCreation(draft),
  };
}

/**
 * Returns the merge patch from the stored entry to the draft: only changed fields, so that it
 * overwrites no change of others.
 */
export function patchOf(before: Destination, draft: Draft): Patch {
  const old = draftOf(before);
  const signature = signaturePatch(before.signature, draft.signature);
  const [request, retry] = [
    requestPatch(before.request, draft.request),
    retryPatch(before.retry, draft.retry),
  ];
  const own = defined({
    name: draft.name.trim() !== old.name ? draft.name.trim() : undefined,
    sources: !same([...draft.sources].sort(), [...old.sources].sort()) ? draft.sources : undefined,
    webhooks: !same(draft.webhooks, old.webhooks) ? draft.webhooks.map(webhookOf) : undefined,
    sharedSecret: draft.sharedSecret !== '' ? draft.sharedSecret : undefined,
    signature: signature || undefined,
    request,
    batch: !same(batchOf(draft.batch), before.batch) ? batchOf(draft.batch) : undefined,
    retry,
    proxy: draft.proxy !== old.proxy ? draft.proxy || null : undefined,
  });
  return { ...own, ...plainPatch(before, draft) };
}

/** Signs nothing: its presence says that the destination has a secret. */
const ANY_SECRET = 'preview only';

/**
 * Returns the request for a preview of the draft. Settings with mistakes that have nothing to do
 * with the body are left out.
 * @param hasSecret a shared secret is stored
 * @param event its id; empty: a sample
 */
export function previewOf(
  draft: Draft,
  hasSecret: boolean,
  event: string,
): Operations['POST /destinations/preview']['body'] {
  const wrong = [...problemsOf(draft).keys()];
  const isGood = (field: string) => !wrong.some((each) => each.startsWith(field));
  const [request, signature, [webhook]] = [
    requestOf(draft.request),
    signatureOf(draft.signature),
    draft.webhooks,
  ];
  return {
    destination: defined({
      request,
      signature: signature && isGood('signature') ? signature : undefined,
      webhooks: webhook && isGood('webhooks/0/') ? [webhookOf(webhook)] : undefined,
      sharedSecret: hasSecret || draft.sharedSecret !== '' ? ANY_SECRET : undefined,
    }),
    ...defined({ event: event !== '' ? event : undefined }),
  };
}
