import { Command, CommanderError } from 'commander';
import { ApiProblem } from '../shared/api/client';
import { AppError } from '../shared/runtime/errors';
import { type Cli, Group } from './command';
import { bad, plain, wantsColour } from './output/paint';
import { printableJson, printableLines } from './output/table';
import { CliError, FAILED, USAGE, type ProcessContext } from './process-context';
import { version } from './version';

/** Runs the command line, from its arguments to an exit code. */

const MORE = `
Where Waypost is and by which token: --url, WAYPOST_URL and WAYPOST_TOKEN; else what \`waypost login\` kept; else the
.waypost of an \`npm start\` in this folder.

Exit codes: 0 done; 1 it failed, or a check did; 2 called wrongly. More: docs/guide/cli.md.`;

/** Adds the commands of one module, which is loaded only if one of them runs: a start takes half as long. */
const COMMANDS: [names: string[], load: () => Promise<(program: Group) => void>][] = [
  [['listen'], async () => (await import('./commands/listen')).addListen],
  [['tail'], async () => (await import('./commands/tail')).addTail],
  [['send'], async () => (await import('./commands/send')).addSend],
  [['verify'], async () => (await import('./commands/verify')).addVerify],
  [['status', 'why'], async () => (await import('./commands/status')).addStatus],
  [['events'], async () => (await import('./commands/events')).addEvents],
  [['lookup'], async () => (await import('./commands/lookup')).addLookup],
  [['deliveries'], async () => (await import('./commands/deliveries')).addDeliveries],
  [['retry', 'cancel'], async () => (await import('./commands/recall')).addRecall],
  [['replay'], async () => (await import('./commands/replay')).addReplay],
  [['sources'], async () => (await import('./commands/sources')).addSources],
  [['destinations'], async () => (await import('./commands/destinations')).addDestinations],
  [['audiences'], async () => (await import('./commands/audiences')).addAudiences],
  [['traits'], async () => (await import('./commands/traits')).addTraits],
  [['alerts'], async () => (await import('./commands/alerts')).addAlerts],
  [['notices'], async () => (await import('./commands/notices')).addNotices],
  [['tokens'], async () => (await import('./commands/tokens')).addTokens],
  [['deletions'], async () => (await import('./commands/deletions')).addDeletions],
  [['audit'], async () => (await import('./commands/audit')).addAudit],
  [['doctor'], async () => (await import('./commands/doctor')).addDoctor],
  [['export'], async () => (await import('./commands/export')).addExport],
  [['import'], async () => (await import('./commands/import')).addImport],
  [['login', 'logout', 'whoami'], async () => (await import('./commands/login')).addLogin],
  [['mcp'], async () => (await import('./commands/mcp')).addMcp],
  [['completion'], async () => (await import('./commands/completion')).addCompletion],
];
/** The script that completes commands has all of them. */
const KNOWS_ALL = 'completion';

/** @returns the exit code; never throws for a mistake of the user */
export async function run(argv: string[], world: ProcessContext): Promise<number> {
  const cli: Cli = { world, exitCode: 0 };
  try {
    const program = await createProgram(cli, commandOf(argv));
    await program.parseAsync(argv, { from: 'user' });
    return cli.exitCode;
  } catch (error) {
    return explain(error, world, argv.includes('--json'));
  }
}

/** Returns the command that these arguments name; undefined: none. */
function commandOf(argv: readonly string[]): string | undefined {
  let i = 0;
  while (argv[i]?.startsWith('-')) i += argv[i] === '--url' ? 2 : 1;
  return argv[i];
}

function loadersOf(only: string | undefined) {
  const named = COMMANDS.filter(([names]) => only !== undefined && names.includes(only));
  const isEnough = named.length > 0 && only !== KNOWS_ALL;
  return (isEnough ? named : COMMANDS).map(([, load]) => load);
}

/**
 * Builds the commands. The reference (docs/reference/cli.md) is generated from their help.
 * @param only the command that runs; if it is absent or unknown, all are there
 */
export async function createProgram(cli: Cli, only?: string): Promise<Command> {
  const { world } = cli;
  const program = new Command('waypost')
    .description('Manage Waypost from a terminal: events, deliveries and webhooks.')
    .version(version(), '--version')
    .option('--url <address>', 'address of the control API, such as http://127.0.0.1:8090')
    .option('--json', 'output JSON, one value per line')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({ writeOut: (text) => world.out(text), writeErr: (text) => world.err(text) })
    .exitOverride()
    .addHelpText('after', MORE);
  const top = new Group(cli, program);
  for (const add of await Promise.all(loadersOf(only).map((load) => load()))) add(top);
  return program;
}

/** Writes the error for people, or with --json as one JSON object. @returns the exit code */
function explain(error: unknown, world: ProcessContext, json: boolean): number {
  // Commander has printed the message already.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : USAGE;
  const red = wantsColour(world.env, world.terminal) ? bad : plain;
  if (error instanceof CliError || error instanceof AppError) {
    const exitCode = error instanceof CliError ? error.exitCode : FAILED;
    world.err(
      json
        ? `${printableJson(JSON.stringify({ error: errorOf(error, exitCode) }))}\n`
        : `${red(printableLines(error.message))}\n`,
    );
    return exitCode;
  }
  // A bug: its stack helps to find it.
  const stack = printableLines(String((error as Error).stack));
  world.err(`${red('The command failed because of a bug:')} ${stack}\n`);
  return FAILED;
}

/** Returns an error for programs, with the problem of the API if it has one. */
function errorOf(error: Error, exitCode: number): object {
  const cause = error.cause;
  const problem =
    cause instanceof ApiProblem ? { status: cause.status, problem: cause.problem } : {};
  return { message: error.message, exitCode, ...problem };
}
