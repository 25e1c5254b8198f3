import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../../shared/service/repo-root';
import { OWN_HEADERS } from '../../../shared/model/webhook-request';

test('docs/guide/receiving.md lists every header that Waypost sets', () => {
  const text = readFileSync(join(ROOT, 'docs/guide/receiving.md'), 'utf8').toLowerCase();
  const [, section = ''] = text.split('## headers of every request');
  const rows = section
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .join('\n');
  expect(OWN_HEADERS.filter((name) => !rows.includes(`\`${name}\``))).toEqual([]);
});
