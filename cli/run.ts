import { Command, CommanderError } from 'commander';
import { ApiProblem } from '../shared/api/client';
import { AppError } from '../shared/runtime/errors';
import { type Cli, Group } from './command';
import { addAlerts } from './commands/alerts';
import { addAudiences } from './commands/audiences';
import { addAudit } from './commands/audit';
import { addCompletion } from './commands/completion';
import { addDeletions } from './commands/deletions';
import { addDeliveries } from './commands/deliveries';
import { addDestinations } from './commands/destinations';
import { addDoctor } from './commands/doctor';
import { addEvents } from './commands/events';
import { addExport } from './commands/export';
import { addImport } from './commands/import';
import { addListen } from './commands/listen';
import { addLogin } from './commands/login';
import { addLookup } from './commands/lookup';
import { addMcp } from './commands/mcp';
import { addNotices } from './commands/notices';
import { addRecall } from './commands/recall';
import { addReplay } from './commands/replay';
import { addSend } from './commands/send';
import { addSources } from './commands/sources';
import { addStatus } from './commands/status';
import { addTail } from './commands/tail';
import { addTokens } from './commands/tokens';
import { addTraits } from './commands/traits';
import { addVerify } from './commands/verify';
import { bad, plain, wantsColour } from './output/paint';
import { printableJson, printableLines } from './output/table';
import { CliError, FAILED, USAGE, type ProcessContext } from './process-context';
import { version } from './version';

/** Runs the command line, from its arguments to an exit code. */

const MORE = `
Where Waypost is and by which token: --url, WAYPOST_URL and WAYPOST_TOKEN; else what \`waypost login\` kept; else the
.waypost of an \`npm start\` in this folder.

Exit codes: 0 done; 1 it failed, or a check did; 2 called wrongly. More: docs/guide/cli.md.`;

/** @returns the exit code; never throws for a mistake of the user */
export async function run(argv: string[], world: ProcessContext): Promise<number> {
  const cli: Cli = { world, exitCode: 0 };
  try {
    await createProgram(cli).parseAsync(argv, { from: 'user' });
    return cli.exitCode;
  } catch (error) {
    return explain(error, world, argv.includes('--json'));
  }
}

/** Builds the commands. The reference (docs/reference/cli.md) is generated from their help. */
export function createProgram(cli: Cli): Command {
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
  const add = [
    addListen,
    addTail,
    addSend,
    addVerify,
    addStatus,
    addEvents,
    addLookup,
    addDeliveries,
    addRecall,
    addReplay,
    addSources,
    addDestinations,
    addAudiences,
    addTraits,
    addAlerts,
    addNotices,
    addTokens,
    addDeletions,
    addAudit,
    addDoctor,
    addExport,
    addImport,
    addLogin,
    addMcp,
    addCompletion,
  ];
  const top = new Group(cli, program);
  for (const one of add) one(top);
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
