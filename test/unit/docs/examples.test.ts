import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../../shared/runtime/repo-root';

interface Package {
  name: string;
  dependencies?: Record<string, string>;
  scripts?: Record<string, string>;
}

const packageOf = (folder: string) =>
  JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8')) as Package;

const examples = readdirSync(join(ROOT, 'examples'), { recursive: true, encoding: 'utf8' })
  .filter((path) => /^[\w-]+\/package\.json$/.test(path))
  .map((path) => `examples/${path.split('/')[0]!}`);

test('the examples are found', () => {
  expect(examples).toContain('examples/receive-express');
});

test.each(examples)('%s installs and builds the client of the clone', (example) => {
  const address = packageOf(example).dependencies?.['@waypost/node'] ?? '';
  expect(address).toMatch(/^file:/);
  const client = packageOf(join(example, address.replace('file:', '')));
  expect(client).toMatchObject({
    name: '@waypost/node',
    scripts: {
      // npm runs it when it installs a folder.
      prepare: 'npm run build',
      build: expect.any(String),
    },
  });
});
