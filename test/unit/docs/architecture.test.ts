import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CANCEL_REASONS, DEAD_REASONS, WAIT_REASONS } from '../../../shared/model/reasons';
import { ROOT } from '../../../shared/runtime/repo-root';

const page = readFileSync(join(ROOT, 'docs/design/architecture.md'), 'utf8');

const section = (title: string) => page.split(`## ${title}\n`)[1]?.split('\n## ')[0] ?? '';
const quoted = (text: string) => [...text.matchAll(/`([^`]+)`/g)].map(([, each = '']) => each);
const isPath = (text: string) => text.includes('/') || text.endsWith('.ts');
/** `Class.#method` → method; undefined for a value or a text */
const nameOf = (text: string) => /^(?:\w+\.)?#?([a-zA-Z]\w+)$/.exec(text)?.[1];

/** Returns the code of a file, or of all files of a folder; a bare file name is beside `first`. */
function codeOf(path: string, first: string): string {
  const at = [path, join(dirname(first), path)]
    .map((each) => join(ROOT, each))
    .find((each) => existsSync(each));
  if (at === undefined) throw new Error(`${path} does not exist`);
  if (!statSync(at).isDirectory()) return readFileSync(at, 'utf8');
  return readdirSync(at)
    .map((name) => readFileSync(join(at, name), 'utf8'))
    .join('\n');
}

const steps = section('The path of a call')
  .split('\n')
  .filter((line) => /^\| .*`/.test(line))
  .map((line) => ({ line, step: line.split('|')[1]!.trim() }));

test.each(steps)(
  'the path of a call names existing functions of existing files where it $step',
  ({ line }) => {
    const names = quoted(line);
    const files = names.filter(isPath);
    const code = files.map((file) => codeOf(file, files[0]!)).join('\n');
    for (const name of names
      .filter((each) => !isPath(each))
      .flatMap((each) => nameOf(each) ?? [])) {
      if (!TOPICS.has(name)) expect(code).toContain(name);
    }
  },
);

/** Topics that the table mentions beside functions. */
const TOPICS = new Set(['messages', 'webhooks', 'attempts', 'config']);

test('the path of a 503 names existing functions of existing files', () => {
  const names = quoted(section('The path of a 503'));
  const folders = [
    'services/delivery',
    'services/delivery/batches',
    'services/delivery/decisions',
    'services/delivery/http',
    'services/delivery/lanes',
    'services/control/history',
    'services/retry',
    'shared/model',
  ];
  const code = folders.map((folder) => folderCode(folder)).join('\n');
  for (const name of names) {
    if (isPath(name)) {
      expect([name, folders.some((folder) => exists(name) || exists(`${folder}/${name}`))]).toEqual(
        [name, true],
      );
    } else if (/^[A-Z]\w+\.#?\w+$|^[a-z]+[A-Z]\w+$/.test(name)) {
      expect(code).toContain(nameOf(name));
    }
  }
});

test("the diagram of a delivery's life names every reason", () => {
  const [, diagram = ''] = section("A delivery's life").split('```');
  const named = new Set(diagram.match(/\w+/g));
  const all = [...WAIT_REASONS, ...DEAD_REASONS, ...CANCEL_REASONS];
  expect(all.filter((reason) => !named.has(reason))).toEqual([]);
});

const exists = (path: string) => existsSync(join(ROOT, path));

function folderCode(folder: string): string {
  return readdirSync(join(ROOT, folder))
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readFileSync(join(ROOT, folder, name), 'utf8'))
    .join('\n');
}
