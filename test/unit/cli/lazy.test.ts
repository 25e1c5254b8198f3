import { createProgram } from '../../../cli/run';
import { waypost } from '../../support/cli';

const world = { out: () => undefined, err: () => undefined };
const namesOf = async (only?: string) =>
  (await createProgram({ world: world as never, exitCode: 0 }, only)).commands.map((command) =>
    command.name(),
  );

test('each command is found without loading those of other modules', async () => {
  const all = await namesOf();
  expect(all.length).toBeGreaterThan(25);
  for (const name of all) {
    const found = await namesOf(name);
    expect(found).toContain(name);
    if (name !== 'completion') expect(found.length).toBeLessThan(4);
  }
});

test('completion, help and an unknown command know all commands', async () => {
  const all = await namesOf();
  expect(await namesOf('completion')).toEqual(all);
  expect(await namesOf('destination')).toEqual(all);
  expect((await waypost(['--help'])).out).toMatch(/listen[\s\S]*whoami/);
  const unknown = await waypost(['--url', 'status', 'destination']);
  expect([unknown.code, unknown.err]).toEqual([2, expect.stringContaining('destinations')]);
});

test.each([
  ['status', '--help'],
  ['--url', 'http://127.0.0.1:1', 'status', '--help'],
  ['--json', 'status', '--help'],
  ['help', 'status'],
])('waypost %s %s %s %s shows the help of status', async (...argv) => {
  const { code, out } = await waypost(argv.filter((each) => typeof each === 'string'));
  expect([code, out]).toEqual([0, expect.stringContaining('waypost status')]);
});
