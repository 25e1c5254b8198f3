import { type Destination, type Operations } from '../../../shared/api/operations';
import { HIDDEN_USER_INFO, NO_PROXY, readProxyUrl } from '../../../shared/model/proxy-url';
import { MOST_TIMEOUT_MS } from '../../../shared/model/retry-plan';
import { effectiveDelay } from '../../../shared/model/schedule';
import { formatDuration, parseDuration } from '../../../shared/model/time';
import { changedFields, isWhole, partsOf, same } from './field-values';
import { text } from '../texts';

const words = text.endpoint.planDraft;

/** The batches, the retry plan and the proxy of a destination while somebody edits them. Pure. */

/** Fields as entered; without `maxEvents` each event is sent alone. */
export interface BatchDraft {
  maxEvents: string;
  maxWait: string;
  maxBytes: string;
}

/** Fields as entered; an empty one is as the installation's settings say. */
export interface RetryDraft {
  /** durations separated by commas */
  delays: string;
  window: string;
  timeout: string;
  /** statuses separated by commas */
  on: string;
}

type Patch = NonNullable<Operations['PATCH /destinations/{id}']['body']>;

/** The values that the API uses if they are not entered. */
export const NO_BATCH: BatchDraft = { maxEvents: '', maxWait: '1s', maxBytes: '1000000' };
export const NO_PLAN: RetryDraft = { delays: '', window: '', timeout: '', on: '' };

export function batchDraft(batch: Destination['batch']): BatchDraft {
  if (!batch) return NO_BATCH;
  return {
    maxEvents: String(batch.maxEvents),
    maxWait: batch.maxWait,
    maxBytes: String(batch.maxBytes),
  };
}

export function batchOf({ maxEvents, maxWait, maxBytes }: BatchDraft) {
  if (maxEvents === '') return null;
  return { maxEvents: Number(maxEvents), maxBytes: Number(maxBytes), maxWait };
}

export function batchProblems({ maxEvents, maxWait, maxBytes }: BatchDraft): [string, string][] {
  if (maxEvents === '') return [];
  return found([
    ['batch/maxEvents', isWhole(maxEvents, 2, 100), words.maxEventsProblem],
    ['batch/maxWait', isWithin(maxWait, 100, 60_000), words.maxWaitProblem],
    ['batch/maxBytes', isWhole(maxBytes, 1, 5_000_000), words.maxBytesProblem],
  ]);
}

export function retryDraft(retry: Destination['retry']): RetryDraft {
  if (!retry) return NO_PLAN;
  const { delays, window, timeout, on } = retry;
  return {
    delays: (delays ?? []).join(', '),
    window: window ?? '',
    timeout: timeout ?? '',
    on: (on ?? []).join(', '),
  };
}

function wholePlan({ delays, window, timeout, on }: RetryDraft) {
  const [times, statuses] = [partsOf(delays), partsOf(on).map(Number)];
  return {
    delays: times.length === 0 ? null : times,
    window: window === '' ? null : window,
    timeout: timeout === '' ? null : timeout,
    on: statuses.length === 0 ? null : statuses,
  };
}

/** Returns the merge patch of `retry`; undefined if nothing was changed. */
export function retryPatch(before: Destination['retry'], draft: RetryDraft): Patch['retry'] {
  const [old, plan] = [wholePlan(retryDraft(before)), wholePlan(draft)];
  if (same(old, plan)) return undefined;
  if (Object.values(plan).every((value) => value === null)) return null;
  // A merge patch returns a field to the settings by null, which the schema of the whole object
  // does not have.
  return changedFields(old, plan) as Patch['retry'];
}

const MINUTE_MS = 60_000;
const MOST_WINDOW_MS = 72 * 60 * MINUTE_MS;

export function retryProblems({ delays, window, timeout, on }: RetryDraft): [string, string][] {
  const areDelays = partsOf(delays).every((text) => isWithin(text, 1, MOST_WINDOW_MS));
  const areStatuses = partsOf(on).every((text) => isWhole(text, 300, 599));
  return found([
    ['retry/delays', areDelays, words.delaysProblem],
    [
      'retry/window',
      window === '' || isWithin(window, MINUTE_MS, MOST_WINDOW_MS),
      words.windowProblem,
    ],
    [
      'retry/timeout',
      timeout === '' || isWithin(timeout, 1_000, MOST_TIMEOUT_MS),
      words.timeoutProblem,
    ],
    ['retry/on', areStatuses, words.statusesProblem],
  ]);
}

/**
 * Returns the delays that Waypost will keep: sums of the installation's tiers.
 * @param delays as entered; undefined: some are not valid yet
 */
export function effectiveDelays(delays: string, tiers: readonly string[]): string[] | undefined {
  const wanted = partsOf(delays).map((text) => parseDuration(text) ?? 0);
  const tiersMs = tiers.map((text) => parseDuration(text) ?? 0);
  if (wanted.some((ms) => ms <= 0 || ms > MOST_WINDOW_MS) || tiersMs.length === 0) return undefined;
  return wanted.map((ms) => formatDuration(effectiveDelay(ms, tiersMs)));
}

export function proxyProblem(text: string): string | undefined {
  const read = text === '' || text === NO_PROXY ? undefined : readProxyUrl(text);
  return typeof read === 'string' ? words.proxyProblem(read) : undefined;
}

/** Returns whether secrets would take another way. The login at the proxy does not count. */
export function changesProxy(before: string, after: string): boolean {
  const address = (text: string) => {
    const read = readProxyUrl(text);
    return typeof read === 'string' ? text : read.address;
  };
  return address(before) !== address(after);
}

/** Returns the proxy for people: the user may just have typed the password. */
export function withoutLogin(proxy: string): string {
  return proxy.replace(/:\/\/[^@]*@/, `://${HIDDEN_USER_INFO}@`);
}

function isWithin(text: string, leastMs: number, mostMs: number): boolean {
  const ms = parseDuration(text);
  return ms !== undefined && leastMs <= ms && ms <= mostMs;
}

function found(
  checks: readonly [field: string, isGood: boolean, problem: string][],
): [string, string][] {
  return checks.filter(([, isGood]) => !isGood).map(([field, , problem]) => [field, problem]);
}
