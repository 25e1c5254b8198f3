import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../shared/runtime/repo-root';

/**
 * The code blocks of a page. The comment before a block of commands or code names the test that
 * runs it, `run by <path>: <name>`, or says why none does, `not run: <reason>`.
 */

export interface DocBlock {
  /** as in an editor */
  line: number;
  /** empty for an indented block */
  language: string;
  code: string;
  /** the text of the comment before it; empty without one */
  mark: string;
}

/** @param page path in the repository */
export function blocksOf(page: string): DocBlock[] {
  const lines = readFileSync(join(ROOT, page), 'utf8').split('\n');
  const blocks: DocBlock[] = [];
  for (let at = 0; at < lines.length; at++) {
    const fence = /^( *)```(\w*)/.exec(lines[at]!);
    if (fence) {
      const end = lines.indexOf(`${fence[1]!}\`\`\``, at + 1);
      blocks.push(block(lines, at, fence[2]!, lines.slice(at + 1, end)));
      at = end;
    } else if (lines[at]!.startsWith('    ') && lines[at - 1] === '') {
      let end = at;
      while (lines[end]?.startsWith('    ')) end++;
      const code = lines.slice(at, end).map((line) => line.slice(4));
      blocks.push(block(lines, at, '', code));
      at = end;
    }
  }
  return blocks;
}

/**
 * @returns the code of the block that a test runs under this name. @throws Error if the page has no
 *   such block
 */
export function blockNamed(page: string, name: string): string {
  const found = blocksOf(page).find(
    ({ mark }) => mark.startsWith('run by ') && mark.endsWith(`: ${name}`),
  );
  if (!found) throw new Error(`${page} has no block marked "run by …: ${name}"`);
  return found.code;
}

function block(lines: string[], at: number, language: string, code: string[]): DocBlock {
  const before = lines.slice(0, at).findLast((line) => line !== '') ?? '';
  const mark = /^ *<!-- (.*) -->$/.exec(before)?.[1] ?? '';
  return { line: at + 1, language, code: `${code.join('\n')}\n`, mark };
}
