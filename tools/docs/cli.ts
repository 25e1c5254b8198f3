import { PassThrough } from 'node:stream';
import { type Command } from 'commander';
import { createProgram } from '../../cli/run';

/** The help of every command, for docs/reference/cli.md. */

/** A fixed terminal width, on every machine. */
const COLUMNS = 100;

export async function commandHelp(): Promise<string> {
  const program = await createProgram({
    world: {
      env: {},
      cwd: '/',
      home: '/',
      out: () => undefined,
      err: () => undefined,
      terminal: false,
      stdin: new PassThrough(),
      stop: new AbortController().signal,
    },
    exitCode: 0,
  });
  return program.commands.map((command) => sectionOf(command, [], 2)).join('\n\n');
}

function sectionOf(command: Command, above: readonly string[], level: number): string {
  const name = [...above, command.name()];
  const below = command.commands.filter((each) => each.name() !== 'help');
  const body =
    below.length === 0
      ? `\`\`\`text\n${helpOf(command)}\n\`\`\``
      : [command.description(), ...below.map((each) => sectionOf(each, name, level + 1))].join(
          '\n\n',
        );
  return `${'#'.repeat(level)} ${name.join(' ')}\n\n${body}`;
}

function helpOf(command: Command): string {
  let text = '';
  // The page names it once.
  command.helpOption(false);
  command.configureHelp({ showGlobalOptions: false });
  command.configureOutput({
    writeOut: (written) => {
      text += written;
    },
    getOutHelpWidth: () => COLUMNS,
    getOutHasColors: () => false,
  });
  command.outputHelp();
  // Behind a command without options and arguments, a space is left.
  return text.trim().replace(/ +$/gm, '');
}
