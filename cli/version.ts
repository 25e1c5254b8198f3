import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../shared/runtime/repo-root';

export function version(): string {
  return (JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string })
    .version;
}
