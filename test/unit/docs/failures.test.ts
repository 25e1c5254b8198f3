import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../../shared/service/repo-root';
import { CANCEL_REASONS, DEAD_REASONS, WAIT_REASONS } from '../../../shared/model/reasons';

test('docs/operations/failures.md explains every reason for a wait, a dead letter or a cancellation', () => {
  const text = readFileSync(join(ROOT, 'docs/operations/failures.md'), 'utf8');
  const [, section = ''] = text.split('## Why a delivery waits or was given up');
  const rows = [...section.matchAll(/^\| `(\w+)` /gm)].map(([, reason]) => reason).sort();
  expect(rows).toEqual([...new Set([...WAIT_REASONS, ...DEAD_REASONS, ...CANCEL_REASONS])].sort());
});
