import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../../shared/runtime/repo-root';
import { read, readYaml } from '../deploy/files';

/** The workflows: what they run is fixed, and the release publishes nothing that was not tested. */

const FOLDER = '.github/workflows';
const files = readdirSync(join(ROOT, FOLDER));

interface Step {
  name?: string;
  uses?: string;
  run?: string;
  if?: string;
}
interface Job {
  needs?: string | string[];
  if?: string;
  steps?: Step[];
}
interface Workflow {
  on: Record<string, unknown>;
  jobs: Record<string, Job>;
}

test('every action is pinned to one commit, with its version beside it', () => {
  const pins = files.flatMap((file) => [
    ...read(`${FOLDER}/${file}`).matchAll(/uses: (?!\.\/)(\S+)@(.*)/g),
  ]);
  expect(
    pins.filter(([, , pin]) => !/^[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(pin!)).map(([line]) => line),
  ).toEqual([]);
  const commits = new Map(pins.map(([, action, pin]) => [action, pin]));
  const several = pins.filter(([, action, pin]) => commits.get(action) !== pin);
  expect(several.map(([line]) => line)).toEqual([]);
});

test.each(['node-versions', 'containers', 'broker-container', 'chaos', 'benchmarks'])(
  'the workflow %s runs by hand and by a schedule',
  (name) => {
    const { on } = readYaml<Workflow>(`${FOLDER}/${name}.yml`);
    expect(Object.keys(on)).toEqual(expect.arrayContaining(['schedule', 'workflow_dispatch']));
  },
);

const release = readYaml<Workflow>(`${FOLDER}/release.yml`);
const needs = (name: string): string[] =>
  [release.jobs[name]!.needs ?? []].flat().flatMap((one) => [one, ...needs(one)]);
const PUBLISHES =
  /docker\/login-action|cosign|actions\/attest|npm publish|helm push|git push|gh release/;
const publishing = Object.entries(release.jobs).filter(([, { steps = [] }]) =>
  steps.some(({ uses = '', run = '' }) => PUBLISHES.test(`${uses} ${run}`)),
);

test.each(publishing)('the release job %s follows tests, versions, pins and packages', (name) => {
  expect(needs(name)).toEqual(expect.arrayContaining(['versions', 'test', 'pins', 'packages']));
});

test.each(publishing)('the release job %s publishes nothing if it is started by hand', (_, job) => {
  const always = job.steps!.filter((step) => (job.if ?? step.if) !== "github.event_name == 'push'");
  expect(always.filter(({ uses = '', run = '' }) => PUBLISHES.test(`${uses} ${run}`))).toEqual([]);
});

test('images, chart, npm packages and the release are the publishing jobs', () => {
  expect(publishing.map(([name]) => name)).toEqual(['image', 'chart', 'npm', 'release']);
});
