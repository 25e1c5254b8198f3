import { createProgram } from '../../../cli/run';
import { waypost } from '../../support/cli';

const world = { out: () => undefined, err: () => undefined };
const commandsOf = async (only?: string) =>
  (await createProgram({ world: world as never, exitCode: 0 }, only)).commands;
/** The others are only listed, and have no description. */
const loadedOf = async (only?: string) =>
  (await commandsOf(only)).filter((command) => command.description() !== '').map((c) => c.name());

test('a command is found without loading the module of any other', async () => {
  const all = (await commandsOf()).map((command) => command.name());
  expect(all.length).toBeGreaterThan(25);
  expect(await loadedOf()).toEqual(all);
  expect(await loadedOf('completion')).toEqual(all);
  expect(await loadedOf('')).toEqual([]);
  expect(await loadedOf('destination')).toEqual([]);
  for (const name of all) {
    if (name !== 'completion') expect(await loadedOf(name)).toEqual([name]);
  }
});

const HELP = /listen \[destination\] +Forward live[\s\S]*sources +Sources: list[\s\S]*whoami/;

test.each([
  ['--help', [0, expect.stringMatching(HELP), '']],
  ['help', [0, expect.stringMatching(HELP), '']],
  ['--version', [0, expect.stringMatching(/^\d+\.\d+\.\d+/), '']],
  ['destination', [2, '', expect.stringContaining('destinations')]],
])('waypost %s lists all commands, or names one, without their modules', async (argument, said) => {
  const { code, out, err } = await waypost([argument]);
  expect([code, out, err]).toEqual(said);
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
