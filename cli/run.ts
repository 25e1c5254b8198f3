import { type Argument, Command, CommanderError } from 'commander';
import { ApiProblem } from '../shared/api/client';
import { AppError } from '../shared/runtime/errors';
import { printableJson, printableLines } from '../shared/runtime/printable';
import { type Cli, Group, type Listed } from './command';
import { bad, plain, wantsColour } from './output/paint';
import { CliError, FAILED, USAGE, usage, type ProcessContext } from './process-context';
import { version } from './version';

/** Runs the command line, from its arguments to an exit code. */

const MORE = `
Where Waypost is and by which token: --url, WAYPOST_URL and WAYPOST_TOKEN; else what \`waypost login\` kept; else the
.waypost of an \`npm start\` in this folder.

Exit codes: 0 done; 1 it failed, or a check did; 2 called wrongly. More: docs/guide/cli.md.`;

interface TopCommand extends Listed {
  load: () => Promise<(program: Group, listed: Listed) => void>;
}

/**
 * All commands, as the help lists them. The module of a command is loaded only if it runs: else a
 * start would take twice as long.
 */
const COMMANDS: readonly TopCommand[] = [
  {
    syntax: 'listen [destination]',
    summary: 'Forward live events to a local server, as the destination would receive them',
    load: async () => (await import('./commands/listen')).addListen,
  },
  {
    syntax: 'tail',
    summary: 'Follow events, or with --attempts delivery attempts, until Ctrl-C',
    load: async () => (await import('./commands/tail')).addTail,
  },
  {
    syntax: 'send <type>',
    summary: 'Send a call: identify, track, page, screen, group, alias',
    load: async () => (await import('./commands/send')).addSend,
  },
  {
    syntax: 'verify [file]',
    summary: 'Check both signatures of a request, from a file or standard input',
    load: async () => (await import('./commands/verify')).addVerify,
  },
  {
    syntax: 'status [destination]',
    summary: 'Show which destinations are in trouble: since when, why, and when it goes on',
    load: async () => (await import('./commands/status')).addStatus,
  },
  {
    syntax: 'why <delivery>',
    summary: 'Say why a delivery waits or how it ended, and when it goes on',
    load: async () => (await import('./commands/status')).addWhy,
  },
  {
    syntax: 'events',
    summary: 'List recent events, newest first',
    load: async () => (await import('./commands/events')).addEvents,
  },
  {
    syntax: 'lookup',
    summary: 'Find accepted events by id or user, and what became of each, newest first',
    load: async () => (await import('./commands/lookup')).addLookup,
  },
  {
    syntax: 'deliveries',
    summary: 'Deliveries and their attempts: list, show',
    load: async () => (await import('./commands/deliveries')).addDeliveries,
  },
  {
    syntax: 'retry [delivery]',
    summary: 'Send a waiting delivery now, or all that wait at a destination',
    load: async () => (await import('./commands/recall')).addRetry,
  },
  {
    syntax: 'cancel [delivery]',
    summary: 'Cancel a waiting delivery, or all that wait at a destination',
    load: async () => (await import('./commands/recall')).addCancel,
  },
  {
    syntax: 'replay',
    summary: 'Replay one delivery, or all deliveries in a scope as a job',
    load: async () => (await import('./commands/replay')).addReplay,
  },
  {
    syntax: 'sources',
    summary: 'Sources: list, create, edit',
    load: async () => (await import('./commands/sources')).addSources,
  },
  {
    syntax: 'destinations',
    summary: 'Destinations: list, create, edit, test, rotate',
    load: async () => (await import('./commands/destinations')).addDestinations,
  },
  {
    syntax: 'audiences',
    summary: 'Audiences: list, create, edit, upload',
    load: async () => (await import('./commands/audiences')).addAudiences,
  },
  {
    syntax: 'traits',
    summary: 'Computed traits: list, create, edit',
    load: async () => (await import('./commands/traits')).addTraits,
  },
  {
    syntax: 'alerts',
    summary: 'Alerts about failing destinations: show, edit, test, rotate',
    load: async () => (await import('./commands/alerts')).addAlerts,
  },
  {
    syntax: 'notices',
    summary: 'Notices about failing destinations: list, show, acknowledge',
    load: async () => (await import('./commands/notices')).addNotices,
  },
  {
    syntax: 'tokens',
    summary: 'Tokens of the control API: list, create, edit, revoke',
    load: async () => (await import('./commands/tokens')).addTokens,
  },
  {
    syntax: 'deletions',
    summary: 'Deletions of users: list, show, create',
    load: async () => (await import('./commands/deletions')).addDeletions,
  },
  {
    syntax: 'audit',
    summary: 'List the audit trail, newest first',
    load: async () => (await import('./commands/audit')).addAudit,
  },
  {
    syntax: 'doctor',
    summary:
      'Check control, ingest, services, Kafka, topics, config, keys and clocks, and suggest fixes',
    load: async () => (await import('./commands/doctor')).addDoctor,
  },
  {
    syntax: 'export',
    summary: 'Export sources, destinations, audiences and traits as JSON, without secrets',
    load: async () => (await import('./commands/export')).addExport,
  },
  {
    syntax: 'import <file>',
    summary: 'Create and update entries from a file of `waypost export`',
    load: async () => (await import('./commands/import')).addImport,
  },
  {
    syntax: 'login',
    summary: 'Store an address and a token in a file that only you can read',
    load: async () => (await import('./commands/login')).addLogin,
  },
  {
    syntax: 'logout',
    summary: 'Remove the stored login',
    load: async () => (await import('./commands/login')).addLogout,
  },
  {
    syntax: 'whoami',
    summary: 'Show the address and the identity of your token',
    load: async () => (await import('./commands/login')).addWhoami,
  },
  {
    syntax: 'mcp',
    summary:
      'Serve tools for AI assistants over standard input and output (Model Context Protocol)',
    load: async () => (await import('./commands/mcp')).addMcp,
  },
  {
    syntax: 'completion <shell>',
    summary: 'Print a completion script for bash or zsh',
    load: async () => (await import('./commands/completion')).addCompletion,
  },
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

/**
 * Returns the command that these arguments name, or whose help they ask for; '' if they name none.
 */
function commandOf(argv: readonly string[]): string {
  let i = 0;
  while (argv[i]?.startsWith('-') || argv[i] === 'help') i += argv[i] === '--url' ? 2 : 1;
  return argv[i] ?? '';
}

/**
 * Builds the commands. The reference (docs/reference/cli.md) is generated from their help.
 * @param only the command that runs: all others are only listed. Absent: all of them can run
 */
export async function createProgram(cli: Cli, only?: string): Promise<Command> {
  const { world } = cli;
  const program = new Command('waypost')
    .description('Manage Waypost from a terminal: events, deliveries and webhooks.')
    .version(version(), '--version')
    .option('--url <address>', 'address of the control API, such as http://127.0.0.1:8090')
    .option('--json', 'output JSON, one value per line')
    .configureHelp({ showGlobalOptions: true, subcommandTerm: termOf })
    .configureOutput({
      writeOut: (text) => world.out(text),
      writeErr: (text) => world.err(text),
      // `explain` writes it.
      outputError: () => undefined,
    })
    .exitOverride()
    .addHelpText('after', MORE);
  const top = new Group(cli, program);
  const isNeeded = ({ syntax }: Listed) =>
    only === undefined || only === KNOWS_ALL || only === nameIn(syntax);
  for (const listed of COMMANDS) {
    if (isNeeded(listed)) (await listed.load())(top, listed);
    else program.command(listed.syntax).summary(listed.summary);
  }
  return program;
}

function nameIn(syntax: string): string {
  return syntax.split(' ', 1)[0] ?? '';
}

/** Returns a command with its arguments. All of them have options, which its own help shows. */
function termOf(command: Command): string {
  const inBrackets = (argument: Argument) =>
    argument.required ? `<${argument.name()}>` : `[${argument.name()}]`;
  return [command.name(), ...command.registeredArguments.map(inBrackets)].join(' ');
}

/** Writes the error for people, or with --json as one JSON object. @returns the exit code */
function explain(error: unknown, world: ProcessContext, json: boolean): number {
  if (error instanceof CommanderError) {
    // Commander has written the help, which was asked for or stands for a missing command.
    if (error.exitCode === 0) return 0;
    if (error.code === 'commander.help') return USAGE;
    return explain(usage(error.message), world, json);
  }
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
