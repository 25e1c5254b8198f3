import { type z } from 'zod';
import { type retryBody } from '../../../shared/api/delivery-options';
import { durationText } from '../../../shared/api/fields';
import { defined } from '../../../shared/collections/defined';
import { type Encryptor } from '../../../shared/config/encryption';
import { type Destination, type StoredProxy } from '../../../shared/model/config';
import { type Json, type JsonObject } from '../../../shared/model/message';
import { HIDDEN_USER_INFO, NO_PROXY, readProxyUrl } from '../../../shared/model/proxy-url';
import { type RetryPlan } from '../../../shared/model/retry-plan';
import { effectiveDelay, leastDelay } from '../../../shared/model/schedule';
import { secretFields } from '../../../shared/model/secret-fields';
import { parseDuration } from '../../../shared/model/time';
import { retentionOfDeliveries, type TopicRetention } from '../../../shared/runtime/retention';
import { errorAt, type FieldError } from '../http/problem';
import { fieldsOf } from '../http/validate';

/**
 * The retry plan and the proxy of a destination: from a request to the stored form, and to the API
 * view.
 */

/**
 * Returns the errors in `retry` that depend on the installation: on its tiers, and on the retention
 * of its topics.
 */
export function retryErrors(
  body: Json,
  { tiersMs, retention }: { tiersMs: readonly number[]; retention: TopicRetention },
): FieldError[] {
  const { window, delays } = fieldsOf(fieldsOf(body).retry);
  const windowMs = typeof window === 'string' ? (parseDuration(window) ?? 0) : 0;
  const errors = delayErrors(delays, tiersMs);
  const keptMs = Math.min(Infinity, ...retentionOfDeliveries(retention).map(([, ms]) => ms));
  if (windowMs <= keptMs) return errors;
  const detail =
    `must be at most ${durationText(keptMs)}, which topics keep in this installation ` +
    '(WAYPOST_TOPIC_RETENTION)';
  return [...errors, errorAt(['retry', 'window'], detail)];
}

function delayErrors(delays: Json | undefined, tiersMs: readonly number[]): FieldError[] {
  if (!Array.isArray(delays)) return [];
  const leastMs = leastDelay(tiersMs);
  return delays.flatMap((text, i) => {
    const ms = typeof text === 'string' ? (parseDuration(text) ?? 0) : 0;
    if (ms === 0 || ms >= leastMs) return [];
    const detail =
      `must be at least ${String(leastMs)} ms, half of the shortest tier of this ` +
      'installation (WAYPOST_RETRY_DELAYS)';
    return [errorAt(['retry', 'delays', i], detail)];
  });
}

/** @returns undefined if every field is as the settings say */
export function planOf(fields: z.output<typeof retryBody> | undefined): RetryPlan | undefined {
  const { delays, window, timeout, on } = fields ?? {};
  const plan: RetryPlan = defined({
    delaysMs: delays,
    windowMs: window,
    timeoutMs: timeout,
    on: on && on.length > 0 ? [...new Set(on)] : undefined,
  });
  return Object.keys(plan).length === 0 ? undefined : plan;
}

/** @param tiersMs WAYPOST_RETRY_DELAYS */
export function planView(plan: RetryPlan | undefined, tiersMs: readonly number[]) {
  if (!plan) return null;
  const { delays, window, timeout, on } = inWords(plan);
  const effectiveMs = plan.delaysMs?.map((ms) => effectiveDelay(ms, tiersMs)) ?? tiersMs;
  return {
    delays: delays ?? null,
    effectiveDelays: effectiveMs.map(durationText),
    window: window ?? null,
    timeout: timeout ?? null,
    on: on ?? null,
  };
}

/** Returns the plan as a request writes it, for a merge patch. */
export function planFields(plan: RetryPlan | undefined): JsonObject | undefined {
  if (!plan) return undefined;
  const fields = Object.entries(inWords(plan)).filter(([, value]) => value !== undefined);
  return Object.fromEntries(fields) as JsonObject;
}

function inWords({ delaysMs, windowMs, timeoutMs, on }: RetryPlan) {
  const text = (ms: number | undefined) => (ms === undefined ? undefined : durationText(ms));
  return {
    delays: delaysMs?.map(durationText),
    window: text(windowMs),
    timeout: text(timeoutMs),
    on,
  };
}

export function proxyView(proxy: StoredProxy | undefined): string | null {
  if (!proxy) return null;
  return proxy.userInfo === undefined
    ? proxy.address
    : proxy.address.replace('://', `://${HIDDEN_USER_INFO}@`);
}

/**
 * Returns whether the body has another proxy than the stored destination. The user info does not
 * count.
 */
export function changesProxy(body: Json, before: Pick<Destination, 'proxy'>): boolean {
  return addressOf(fieldsOf(body).proxy) !== before.proxy?.address;
}

/** Returns the error of a `***` that has no stored user info to keep. */
export function proxyErrors(body: Json, before: Pick<Destination, 'proxy'>): FieldError[] {
  const text = fieldsOf(body).proxy;
  const read = typeof text === 'string' ? readProxyUrl(text) : undefined;
  if (typeof read !== 'object' || read.userInfo !== HIDDEN_USER_INFO) return [];
  if (before.proxy?.userInfo !== undefined && before.proxy.address === read.address) return [];
  const detail = `has no stored user info to keep for ${read.address}. Send the user info`;
  return [errorAt(['proxy'], detail)];
}

/** @param text validated by the schema and by `proxyErrors` */
export function sealProxy(
  text: string | undefined,
  before: StoredProxy | undefined,
  { ownerId, encryptor }: { ownerId: string; encryptor: Encryptor },
): StoredProxy | undefined {
  if (text === undefined) return undefined;
  const read = readProxyUrl(text);
  if (typeof read === 'string') return { address: NO_PROXY };
  const { address, userInfo } = read;
  if (userInfo === HIDDEN_USER_INFO) return before;
  return {
    address,
    ...defined({
      userInfo:
        userInfo !== undefined
          ? encryptor.encrypt(userInfo, secretFields.proxy(ownerId, address))
          : undefined,
    }),
  };
}

function addressOf(text: Json | undefined): string | undefined {
  if (typeof text !== 'string') return undefined;
  const read = readProxyUrl(text);
  return typeof read === 'string' ? text : read.address;
}
