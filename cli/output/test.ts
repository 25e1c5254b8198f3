import { type Test } from '../../shared/api/operations';
import { testWord } from '../../shared/model/reasons';
import { type Printer } from './print';

/** Prints the result of a test send. */

export function showTest(print: Printer, test: Test): void {
  print.thing(test, [
    ['delivery', test.delivery],
    ['status', testWord(test.status)],
    ['reason', test.reason ?? undefined],
    ['took', test.attempt ? `${String(test.attempt.durationMs)} ms` : undefined],
    ...(test.attempt?.urls ?? []).map(({ origin, outcome, status, error }): [string, string] => [
      'url',
      [origin, testWord(outcome), status ?? '', error?.message ?? '']
        .filter((part) => part !== '')
        .join('  '),
    ]),
  ]);
}
