import { readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const SCRIPT = 'waypost.js';

/**
 * Builds the package of the command line in dist/packages/cli: one file with the code that the
 * commands use, and a manifest that depends on the packages which this file imports.
 */
export default defineConfig({
  root,
  publicDir: false,
  logLevel: 'warn',
  plugins: [{ name: 'manifest', generateBundle: { handler: emitManifest } }],
  build: {
    ssr: join('cli', 'main.ts'),
    outDir: join('dist', 'packages', 'cli'),
    emptyOutDir: true,
    target: 'es2023',
    minify: false,
    rolldownOptions: {
      output: {
        format: 'cjs',
        entryFileNames: SCRIPT,
        codeSplitting: false,
        banner: '#!/usr/bin/env node',
      },
    },
  },
});

/** Adds the files beside the script. */
function emitManifest(_, bundle) {
  const { version, license, repository, engines, dependencies } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8'),
  );
  const { imports, dynamicImports } = bundle[SCRIPT];
  // What a command loads only when it runs is in the script too.
  const packages = [...imports, ...dynamicImports]
    .filter((id) => !isBuiltin(id) && id !== SCRIPT)
    .map(packageOf);
  const missing = packages.filter((name) => dependencies[name] === undefined);
  if (missing.length > 0)
    this.error(`The command line imports ${missing.join(', ')}, but package.json does not.`);
  const manifest = {
    name: '@waypost/cli',
    version,
    description: 'Manages Waypost from a terminal: events, deliveries, sources and webhooks',
    license,
    // npm compares it with the repository that the provenance names.
    repository,
    type: 'commonjs',
    engines,
    bin: { waypost: SCRIPT },
    files: [SCRIPT],
    // The versions with which the tests ran.
    dependencies: Object.fromEntries(
      [...new Set(packages)].sort().map((name) => [name, dependencies[name]]),
    ),
  };
  const emit = (fileName, source) => this.emitFile({ type: 'asset', fileName, source });
  emit('package.json', `${JSON.stringify(manifest, undefined, 2)}\n`);
  emit('README.md', readFileSync(join(root, 'cli', 'README.md')));
  emit('LICENSE', readFileSync(join(root, 'LICENSE')));
}

function packageOf(id) {
  return id
    .split('/')
    .slice(0, id.startsWith('@') ? 2 : 1)
    .join('/');
}
