import { spawn } from 'node:child_process';
import process from 'node:process';

/**
 * `node tools/steps.mjs check | quick | test [arguments of jest]`: runs commands side by side. The
 * stages of a plan follow each other; the commands of a stage run together, two at a time, the
 * longest first. All of them run, even if one fails. It needs nothing built, because it builds.
 */

const AT_ONCE = 2;

/** Without the types, which take five times as long as the code and are a step of their own. */
const CODE = 'tsc -b tsconfig.build.json --noCheck';
/** What is stored makes the next run as short as the change. */
const stored = (name) => `--incremental --tsBuildInfoFile dist/types-${name}.tsbuildinfo`;
const TYPES = [
  `tsc -p tsconfig.json ${stored('code')}`,
  'tsc -p clients/node/tsconfig.json --noEmit',
  `tsc -p console/tsconfig.json ${stored('console')}`,
].join(' && ');

/**
 * Left to `npm test`: the tests of tools, which change seldom, and unit tests of more than two
 * seconds, which are named `*.long.test.ts`.
 */
const QUICK_UNIT_TESTS =
  'test/unit/(?!bench|chaos|harness|release|simulator|tools).*(?<!long)\\.test\\.ts';

/** Here unit tests run beside brokers and browsers, so that one may wait for a core for seconds. */
const UNIT_TIMEOUT_MS = process.env.UNIT_TIMEOUT_MS ?? '30000';

const PLANS = {
  check: () => [
    [
      'eslint .',
      TYPES,
      'prettier --check .',
      'depcruise services shared bin dev cli test tools clients/node/src console/src',
      'knip',
    ],
  ],
  quick: (given) => [
    [
      `${CODE} && QUICK=1 jest --selectProjects unit e2e --maxWorkers 2 --testPathPatterns '${QUICK_UNIT_TESTS}' test/e2e/first-webhook ${given}`,
      TYPES,
    ],
  ],
  test: (given) => [
    [`${CODE} && node dist/dev/build-console.js`, 'npm --prefix clients/node run --silent build'],
    [`UNIT_TIMEOUT_MS=${UNIT_TIMEOUT_MS} jest ${given}`],
  ],
};

/** Returns whether a command ended well. */
function run(command) {
  return new Promise((resolve) => {
    spawn('sh', ['-c', command], { stdio: 'inherit' }).on('close', (code) => resolve(code === 0));
  });
}

/** Returns the commands that failed. */
async function runStage(commands) {
  const left = [...commands];
  const failed = [];
  const runInTurn = async () => {
    for (let command = left.shift(); command !== undefined; command = left.shift()) {
      if (!(await run(command))) failed.push(command);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, runInTurn));
  return failed;
}

const [name, ...given] = process.argv.slice(2);
const quoted = given.map((argument) => `'${argument.replaceAll("'", `'\\''`)}'`).join(' ');
for (const stage of PLANS[name](quoted)) {
  const failed = await runStage(stage);
  if (failed.length > 0) {
    process.stderr.write(`\nfailed:\n${failed.map((command) => `  ${command}\n`).join('')}`);
    process.exit(1);
  }
}
