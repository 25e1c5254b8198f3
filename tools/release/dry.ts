import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../../shared/runtime/repo-root';
import { allVersions } from './version';

/**
 * `node dist/tools/release/dry.js`: makes everything of a release that needs no registry to publish
 * to, in dist/release, and lists what only the release workflow does.
 */

const OUT = join(ROOT, 'dist', 'release');
const CHART = join('deploy', 'helm', 'waypost');

interface Step {
  name: string;
  /** command without which the step cannot run */
  needs?: string;
  /** @returns what was done; throws if it failed */
  run: () => string;
}

/** @throws Error with the output of the command */
function run(command: string, args: string[], cwd = ROOT): string {
  try {
    return execFileSync(command, args, {
      cwd,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    }).trim();
  } catch (error) {
    const {
      stdout = '',
      stderr = '',
      message,
    } = error as { stdout?: string; stderr?: string; message: string };
    throw new Error(`${stdout}${stderr}`.trim() || message, { cause: error });
  }
}

/** Packs a package, installs the file in an empty folder, and runs `use` there. */
function pack(folder: string, use: (dir: string) => void): string {
  const [packed] = JSON.parse(
    run('npm', ['pack', '--json', '--pack-destination', OUT], join(ROOT, folder)),
  ) as {
    filename: string;
    size: number;
    entryCount: number;
  }[];
  if (packed === undefined) throw new Error(`npm pack made no file of ${folder}`);
  const dir = mkdtempSync(join(tmpdir(), 'waypost-release-'));
  try {
    run('npm', ['init', '--yes'], dir);
    run(
      'npm',
      ['install', '--no-audit', '--no-fund', '--prefer-offline', join(OUT, packed.filename)],
      dir,
    );
    use(dir);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
  return (
    `${packed.filename}: ${packed.entryCount} files, ${Math.ceil(packed.size / 1024)} KB; ` +
    'installed and used'
  );
}

function useClient(dir: string): void {
  const code =
    "if (typeof Analytics !== 'function' || typeof verifyWebhook !== 'function') throw new " +
    "Error('no exports')";
  const names = ['{ Analytics }', '{ verifyWebhook }'];
  const modules = ['@waypost/node', '@waypost/node/webhook'];
  const imports = names.map((name, i) => `import ${name} from '${modules[i]}';`).join('');
  const requires = names.map((name, i) => `const ${name} = require('${modules[i]}');`).join('');
  run(process.execPath, ['--input-type=module', '-e', imports + code], dir);
  run(process.execPath, ['--input-type=commonjs', '-e', requires + code], dir);
}

function useCommandLine(dir: string): void {
  const waypost = join(dir, 'node_modules', '.bin', 'waypost');
  run(waypost, ['--help'], dir);
  // Nothing listens on port 9 (discard): the command must say so, and not crash.
  const failed = messageOf(() =>
    run(waypost, ['sources', 'list', '--url', 'http://127.0.0.1:9'], dir),
  );
  if (!failed.includes('http://127.0.0.1:9') || failed.includes('because of a bug')) {
    throw new Error(`\`waypost sources list\` without a Waypost says: ${failed}`);
  }
}

function messageOf(action: () => unknown): string {
  try {
    action();
    return 'it did not fail';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

const STEPS: Step[] = [
  {
    name: 'versions',
    run: () => {
      const versions = [...new Set(allVersions().map(({ version }) => version))];
      if (versions.length !== 1) {
        throw new Error(
          `the files name ${versions.join(', ')}; run node dist/tools/release/version.js`,
        );
      }
      return `all files name ${versions.join('')}`;
    },
  },
  {
    name: '@waypost/node',
    run: () => {
      run('npm', ['--prefix', 'clients/node', 'run', '--silent', 'build']);
      return pack('clients/node', useClient);
    },
  },
  {
    name: '@waypost/cli',
    run: () => {
      run('npx', ['vite', 'build', '--config', 'cli/vite.config.mjs']);
      return pack('dist/packages/cli', useCommandLine);
    },
  },
  {
    name: 'software bill of materials',
    run: () => {
      const options = ['--sbom-format', 'cyclonedx', '--sbom-type', 'application', '--omit', 'dev'];
      const text = run('npm', ['sbom', ...options, '--package-lock-only']);
      const { bomFormat, components } = JSON.parse(text) as {
        bomFormat: string;
        components: unknown[];
      };
      if (bomFormat !== 'CycloneDX' || components.length === 0) {
        throw new Error('npm sbom listed no component');
      }
      writeFileSync(join(OUT, 'waypost.cdx.json'), text);
      return `waypost.cdx.json: ${components.length} packages`;
    },
  },
  {
    name: 'chart',
    needs: 'helm',
    run: () => {
      run('helm', ['package', CHART, '--destination', OUT]);
      return readdirSync(OUT)
        .filter((file) => /^waypost-\d.*\.tgz$/.test(file) && !file.includes('node'))
        .join(', ');
    },
  },
  {
    name: 'Go module',
    needs: 'go',
    run: () => {
      run('go', ['vet', './...'], join(ROOT, 'clients', 'go'));
      return `${run('go', ['list', '-m'], join(ROOT, 'clients', 'go'))} passes go vet`;
    },
  },
  {
    name: 'workflows',
    needs: 'actionlint',
    run: () => {
      run('actionlint', []);
      return `${readdirSync(join(ROOT, '.github', 'workflows')).length} files pass actionlint`;
    },
  },
];

/** Steps that need a registry or the identity of the release workflow. */
const NOT_HERE = [
  'images for amd64 and arm64: build, scan and push',
  'pinned images: pull each one by its digest (node dist/tools/pins/main.js images --check)',
  'lock file: npm audit',
  'signatures and attestations of images and chart (cosign, build provenance, bill of materials)',
  'npm publish with provenance; push of the chart; tag of the Go module; release on GitHub',
];

const has = (command: string): boolean =>
  (process.env.PATH ?? '')
    .split(':')
    .some((folder) => folder !== '' && listed(folder).includes(command));

function listed(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function main(): number {
  rmSync(OUT, { recursive: true, force: true });
  mkdirSync(OUT, { recursive: true });
  const missing: string[] = [];
  let failed = 0;
  for (const { name, needs, run: perform } of STEPS) {
    if (needs !== undefined && !has(needs)) {
      missing.push(`${name}: ${needs} is not installed here`);
      continue;
    }
    try {
      console.log(`ok      ${name}: ${perform()}`);
    } catch (error) {
      failed += 1;
      console.log(`FAILED  ${name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  for (const it of [...missing, ...NOT_HERE]) console.log(`not run ${it}`);
  console.log(
    failed === 0 ? `The files are in ${OUT}.` : `${failed} of ${STEPS.length} steps failed.`,
  );
  return failed === 0 ? 0 : 1;
}

process.exitCode = main();
