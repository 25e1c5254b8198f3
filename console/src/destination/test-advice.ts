import { type Test } from '../../../shared/api/operations';
import { classifyStatus, receiverSays } from '../../../shared/model/classify-response';
import { causeInWords, reasonInWords } from '../lib/labels';
import { text } from '../texts';

const words = text.destination.testAdvice;

/** Says why a test failed, and what to do about it. Pure. */

type Try = NonNullable<Test['attempt']>['urls'][number];

/** Returns whether every URL has accepted the test. */
export function hasPassed({ status, attempt }: Pick<Test, 'status' | 'attempt'>): boolean {
  const urls = attempt?.urls ?? [];
  return status === 'delivered' && urls.every(({ outcome }) => outcome === 'delivered');
}

/**
 * Returns sentences about the first URL that did not accept the test; none if all did.
 * @param isSigned undefined: not known here
 * @param retried further statuses that the destination retries
 */
export function whyNotPassed(
  test: Pick<Test, 'status' | 'reason' | 'attempt'>,
  isSigned?: boolean,
  retried?: readonly number[],
): string[] {
  if (hasPassed(test)) return [];
  const failed = test.attempt?.urls.find(({ outcome }) => outcome !== 'delivered');
  if (!failed) return [reasonInWords(test.reason)].filter((sentence) => sentence !== '');
  const { status = null, error } = failed;
  const code = error?.code ?? 'status';
  const cause = causeInWords({
    status: code === 'status' ? status : null,
    code,
    message: error?.message ?? '',
  });
  return [words.because(cause), adviceOn(failed, isSigned, new Set(retried))].filter(
    (sentence) => sentence !== '',
  );
}

function adviceOn(
  { status, error }: Try,
  isSigned: boolean | undefined,
  retried: ReadonlySet<number>,
): string {
  if (error && error.code !== 'status') return ON_CODE[error.code] ?? '';
  if (status === undefined) return '';
  if (status === 401 || status === 403) {
    return isSigned === false ? words.unsigned : words.refusesSender;
  }
  if (status >= 300 && status < 400) return words.redirects;
  if (receiverSays(status, undefined, retried).disables) return words.gone;
  if (status === 404 || status === 405 || status === 410) return words.wrongPath;
  if (classifyStatus(status, retried) === 'rejected') return words.refusesContent;
  return status >= 400 && status < 500 ? words.asksForTime : words.failsItself;
}

const ON_CODE: Readonly<Record<string, string>> = words.onCode;
