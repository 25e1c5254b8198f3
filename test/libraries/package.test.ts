import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { defined } from '../../shared/collections/defined';
import { ROOT } from '../../shared/runtime/repo-root';
import { installExamples, type InstalledExamples } from '../support/installed-examples';
import { startProgram } from '../support/child-program';
import { startSink } from '../../tools/harness/sink';

/**
 * @waypost/node as an installed package: its contents, its imports, and the end of a process that
 *   uses it.
 */

const run = promisify(execFile);
let installed: InstalledExamples;
beforeAll(async () => {
  installed = await installExamples();
});
afterAll(() => installed.remove());

const USE = `
  const verify = () => verifyWebhook({ headers: {}, body: '', secret: 's' }).event.type.length;
  const analytics = new Analytics({
    writeKey: 'k',
    fetch,
    onFailed: (messages, { code }) => [messages, code, verify],
  });
  const queued: boolean = analytics.track({ userId: 'u', event: 'E', properties: { total: 1 } });
  // @ts-expect-error -- nobody did it
  analytics.track({ event: 'E' });
  // @ts-expect-error -- nothing happened
  analytics.track({ userId: 'u' });
  void analytics.close({ timeoutMs: 1 }).then((left: number) => [left, queued]);`;

test.each([
  ['ES modules', 'consumer.mts', 'Node16'],
  ['CommonJS', 'consumer.cts', 'Node16'],
  ['a bundler', 'consumer.ts', 'Bundler'],
  ['an older resolution', 'consumer.ts', 'Node10'],
])('the types of @waypost/node compile from %s', async (_, file, resolution) => {
  const dir = join(installed.dir, `types-${resolution}-${file}`);
  mkdirSync(dir);
  writeFileSync(
    join(dir, file),
    `import { Analytics } from '@waypost/node';\nimport { verifyWebhook } from ` +
      `'@waypost/node/webhook';\n{${USE}\n}\nexport {};\n`,
  );
  const module = { Node16: 'Node16', Bundler: 'ES2022', Node10: 'CommonJS' }[resolution]!;
  const compilerOptions = {
    module,
    moduleResolution: resolution,
    target: 'ES2022',
    lib: ['ES2022', 'DOM'],
    types: [],
    strict: true,
    noEmit: true,
    ...defined({ ignoreDeprecations: resolution === 'Node10' ? '6.0' : undefined }),
  };
  writeFileSync(join(dir, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: [file] }));
  // TypeScript 7 has dropped that resolution.
  const compiler = resolution === 'Node10' ? 'typescript/bin/tsc6' : '@typescript/compiler/bin/tsc';
  const tsc = join(ROOT, 'node_modules', compiler);
  const complaints = await run(process.execPath, [tsc, '-p', dir]).then(
    () => '',
    (error: unknown) => (error as { stdout: string }).stdout,
  );
  expect(complaints).toBe('');
});

test.each([
  ['ES modules', 'module', "import { Analytics } from '@waypost/node';"],
  ['CommonJS', 'commonjs', "const { Analytics } = require('@waypost/node');"],
])('a program with %s that ends by itself has sent its queued calls', async (_, type, load) => {
  const sink = await startSink();
  const source = `${load}
    const analytics = new Analytics({ writeKey: 'k', endpoint: '${sink.url('/')}' });
    analytics.track({ userId: 'u', event: 'Last words' });`;
  const program = startProgram(process.execPath, [`--input-type=${type}`, '-e', source], {
    cwd: installed.dir,
  });
  expect([await program.exited, program.output()]).toEqual([0, '']);
  expect(sink.received('/v1/batch')).toHaveLength(1);
  await sink.close();
});

test('@waypost/node has no dependencies', () => {
  const manifest = JSON.parse(
    readFileSync(join(installed.dir, 'node_modules/@waypost/node/package.json'), 'utf8'),
  ) as Record<string, unknown>;
  expect(manifest).not.toHaveProperty('dependencies');
  expect(manifest).not.toHaveProperty('peerDependencies');
});
