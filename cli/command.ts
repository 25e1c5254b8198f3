import { type Command } from 'commander';
import { type Confirm, createConfirm, requireTerminal, YES } from './confirm';
import { type Api, findInstallation, openApi } from './connect/api';
import { type Installation } from './connect/resolve-installation';
import { sampleOf } from './entries';
import { createPrinter, type Printer } from './output/print';
import { usage, type ProcessContext } from './process-context';

/** Builds a command: its name and arguments, its help with an example, and its session. */

/** One run of the command line. */
export interface Cli {
  world: ProcessContext;
  /** set by the command that ran */
  exitCode: number;
}

/** The inputs of a command. */
export interface Session {
  world: ProcessContext;
  print: Printer;
  /** @throws CliError */
  installation: () => Installation;
  /** @throws CliError if no token is known */
  api: () => Api;
  /** for commands with `asks` */
  confirm: Confirm;
}

interface Global {
  url?: string;
  json?: boolean;
  yes?: boolean;
}

/** A command of the program, as its help lists it. */
export interface Listed {
  /** `status [destination]` */
  syntax: string;
  summary: string;
}

export interface About {
  summary: string;
  /**
   * one line as it is typed, without `waypost`; default: its name, with samples for its arguments
   */
  example?: string;
  options?: CommandOption[];
  /** an additional paragraph of its help */
  more?: string;
  /** the group runs it if no subcommand is given */
  isDefault?: boolean;
  /** it ends, deletes or replaces something: it asks by `confirm` first, or needs `--yes` */
  asks?: 'always' | 'sometimes';
}

/** flags as commander reads them, and what they do */
export type CommandOption = [flags: string, description: string];

/** The exit code; undefined means 0. */
type Ended = Promise<number | undefined> | Promise<void>;

/** A command that has subcommands, such as `destinations`, and the program itself. */
export class Group {
  constructor(
    private readonly cli: Cli,
    readonly command: Command,
  ) {}

  group(name: string, summary: string): Group {
    return new Group(this.cli, this.command.command(name).summary(summary).description(summary));
  }

  /** @param syntax `list`, or `show <id>` */
  // eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- callers set O
  leaf<O extends object = object>(
    syntax: string,
    about: About,
    act: (session: Session, options: O, ...args: string[]) => Ended,
  ): void {
    const {
      summary,
      example = sampleOf(this.#path(syntax)),
      options = [],
      more,
      isDefault = false,
      asks,
    } = about;
    const command = this.command
      .command(syntax, { isDefault })
      .summary(summary)
      .description(summary);
    for (const [flags, description] of options) addOption(command, flags, description);
    if (asks) addOption(command, ...YES);
    command.addHelpText(
      'after',
      `${more === undefined ? '' : `\n${more}\n`}\nExample:\n  $ waypost ${example}`,
    );
    command.action(async (...given: unknown[]) => {
      const set = command.optsWithGlobals<Global & O>();
      // Commander passes the options and the command after the arguments.
      const args = given.slice(0, -2) as string[];
      const { world } = this.cli;
      // Before the command reads anything.
      if (asks === 'always' && !set.yes) requireTerminal(world);
      this.cli.exitCode = (await act(createSession(world, set), set, ...args)) ?? 0;
    });
  }

  /** No group is in a group. */
  #path(syntax: string): string {
    return this.command.parent ? `${this.command.name()} ${syntax}` : syntax;
  }
}

/**
 * `<x...>` can be repeated and takes one word each time. Commander itself would also take the
 * arguments that follow.
 */
function addOption(command: Command, flags: string, description: string): void {
  if (!flags.includes('...')) return void command.option(flags, description);
  const collect = (value: string, before: string[] | undefined) => [...(before ?? []), value];
  command.option(flags.replace('...', ''), `${description}; may be repeated`, collect);
}

function createSession(world: ProcessContext, { url, json = false, yes = false }: Global): Session {
  let installation: Installation | undefined;
  let api: Api | undefined;
  const findOnce = () => (installation ??= findInstallation(world, url));
  return {
    world,
    print: createPrinter(world, json),
    installation: findOnce,
    api: () => (api ??= openApi(findOnce())),
    confirm: createConfirm(world, yes),
  };
}

/** @throws CliError if the text is not a whole number in that range */
export function whole(text: string, name: string, [min, max]: [min: number, max: number]): number {
  const number = /^\d{1,9}$/.test(text) ? Number(text) : NaN;
  if (!(number >= min && number <= max)) {
    throw usage(
      `${name} must be a whole number from ${String(min)} to ${String(max)}, not "${text}".`,
    );
  }
  return number;
}

/** @throws CliError if the text is not a number in that range, such as 50 or 0.5 */
export function decimal(
  text: string,
  name: string,
  [min, max]: [min: number, max: number],
): number {
  const number = /^\d{1,9}(\.\d{1,9})?$/.test(text) ? Number(text) : NaN;
  if (!(number >= min && number <= max)) {
    throw usage(`${name} must be a number from ${String(min)} to ${String(max)}, not "${text}".`);
  }
  return number;
}

/** @throws CliError if the text is not one of the choices */
export function oneOf<T extends string>(text: string, name: string, choices: readonly T[]): T {
  const found = choices.find((choice) => choice === text);
  if (found === undefined) {
    throw usage(`${name} must be one of ${choices.join(', ')}, not "${text}".`);
  }
  return found;
}

/** Splits `a,b , c`. */
export function listOf(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}
