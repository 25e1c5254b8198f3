import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../shared/runtime/repo-root';

/**
 * Returns every page in Markdown that is not ignored by git. @param patterns as for `git ls-files`
 */
export function markdownPages(...patterns: string[]): string[] {
  const args = ['ls-files', '--cached', '--others', '--exclude-standard', ...patterns];
  const lines = execFileSync('git', args, { cwd: ROOT }).toString().split('\n');
  return lines.filter((path) => path !== '' && existsSync(join(ROOT, path)));
}

/** Returns the pages for users: those at the root, and docs/ without the decisions. */
export function userPages(): string[] {
  const pages = markdownPages(':(glob)*.md', 'docs/*.md');
  return pages.filter((page) => !page.startsWith('docs/design/decisions/'));
}
