import { type Test } from '../../shared/api/operations';
import { type Printer } from './print';

/** Prints the result of a test send. */

export function showTest(print: Printer, test: Test): void {
  print.thing(test, [
    ['delivery', test.delivery],
    ['status', test.status],
    ['reason', test.reason ?? undefined],
    ['took', test.attempt ? `${String(test.attempt.durationMs)} ms` : undefined],
    ...(test.attempt?.urls ?? []).map(({ origin, outcome, status, error }): [string, string] => [
      'url',
      [origin, outcome, status ?? '', error?.message ?? ''].filter((part) => part !== '').join('  '),
    ]),
  ]);
}
