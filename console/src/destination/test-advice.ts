import { type Test } from '../../../shared/api/operations';
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
 */
export function whyNotPassed(
  test: Pick<Test, 'status' | 'reason' | 'attempt'>,
  isSigned?: boolean,
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
  return [words.because(cause), adviceOn(failed, isSigned)].filter((sentence) => sentence !== '');
}

function adviceOn({ status, error }: Try, isSigned: boolean | undefined): string {
  if (error && error.code !== 'status') return ON_CODE[error.code] ?? '';
  if (status === undefined) return '';
  if (status === 401 || status === 403) {
    return isSigned === false ? words.unsigned : words.refusesSender;
  }
  if (status === 404 || status === 405 || status === 410) return words.wrongPath;
  if (status === 408 || status === 425 || status === 429) return words.asksForTime;
  if (status < 400) return words.redirects;
  return status < 500 ? words.refusesContent : words.failsItself;
}

const ON_CODE: Readonly<Record<string, string>> = words.onCode;
