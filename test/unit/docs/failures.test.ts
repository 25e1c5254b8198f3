import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../../shared/runtime/repo-root';
import { CANCEL_REASONS, DEAD_REASONS, WAIT_REASONS } from '../../../shared/model/reasons';

const endIn = (meaning = '') => /: (dead|cancelled)\./.exec(meaning)?.[1] ?? 'wait';

test('docs/operations/failures.md explains every wait, dead letter and cancellation', () => {
  const text = readFileSync(join(ROOT, 'docs/operations/failures.md'), 'utf8');
  const [, section = ''] = text.split('## Why a delivery waits or was given up');
  const rows = [...section.matchAll(/^\| `(\w+)` +\| (.*?) +\|/gm)].map(([, reason, meaning]) => [
    reason,
    endIn(meaning),
  ]);
  const waits = WAIT_REASONS.map((reason) => [reason, 'wait'] as const);
  const ends = [
    ...CANCEL_REASONS.map((reason) => [reason, 'cancelled'] as const),
    ...DEAD_REASONS.map((reason) => [reason, 'dead'] as const),
  ];
  expect(Object.fromEntries(rows)).toEqual({
    ...Object.fromEntries(ends),
    ...Object.fromEntries(waits),
  });
});
