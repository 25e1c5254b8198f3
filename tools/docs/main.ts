import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../shared/runtime/repo-root';
import { generatePage, PAGES, readPage } from './pages';

/** `npm run docs`: writes the generated parts of docs/reference. */

async function main(): Promise<void> {
  for (const path of Object.keys(PAGES)) {
    const page = await generatePage(path);
    if (page === readPage(path)) continue;
    writeFileSync(join(ROOT, path), page);
    process.stdout.write(`${path}\n`);
  }
  // The modules of the services keep handles open.
  process.exit(0);
}

void main();
