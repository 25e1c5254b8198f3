import { relative } from 'node:path';
import { ROOT } from '../../shared/service/repo-root';
import { measureBelow, measureComments, measureDocs, type Measured } from './files';
import { CEILINGS } from './ceilings';
import { rates } from './measure';

/** `npm run prose [-- PATH...]`: prints the rates of all docs and of comments by folder, or the sentences to rewrite below a path. */

const PER_FILE = 5;

function line(name: string, parts: readonly Measured[]): string {
  const { phrases, openings } = rates(parts);
  const words = parts.reduce((sum, part) => sum + part.words, 0);
  return `${name.padEnd(22)} ${String(words).padStart(7)} words  ${phrases.toFixed(1).padStart(5)} odd phrases per 1,000 words  ${openings.toFixed(1).padStart(5)} % odd openings`;
}

const paths = process.argv.slice(2).map((path) => relative(ROOT, path) || '.');
if (paths.length === 0) {
  console.log(line('docs', measureDocs()));
  for (const folder of Object.keys(CEILINGS)) console.log(line(folder, measureComments(folder)));
}
for (const path of paths) {
  const parts = measureBelow(path);
  console.log(line(path, parts));
  for (const { path: file, found } of parts.filter((part) => part.found.length > 0)) {
    console.log(file);
    for (const sentence of found.slice(0, PER_FILE)) console.log(`  ${sentence}`);
  }
}
