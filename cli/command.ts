import { type Command } from 'commander';
import { type Api, findPlace, openApi } from './connect/api';
import { type Place } from './connect/resolve-place';
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
  place: () => Place;
  /** @throws CliError if no token is known */
  api: () => Api;
}

interface Global {
  url?: string;
  json?: boolean;
}

export interface About {
  summary: string;
  /** one line as it is typed, without `waypost` */
  example: string;
  /** flags as commander reads them, and what they do */
  options?: [flags: string, description: string][];
  /** an additional paragraph of its help */
  more?: string;
}

/** `list`, or `show <id>`. The action returns the exit code; undefined means 0. */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- each command declares its options
export function leaf<O extends object = object>(
  cli: Cli,
  [parent, syntax]: [parent: Command, syntax: string],
  about: About,
  act: (session: Session, options: O, ...args: string[]) => Promise<number | undefined> | Promise<void>,
): void {
  const command = parent.command(syntax).summary(about.summary).description(about.summary);
  for (const [flags, description] of about.options ?? []) addOption(command, flags, description);
  const more = about.more === undefined ? '' : `\n${about.more}\n`;
  command.addHelpText('after', `${more}\nExample:\n  $ waypost ${about.example}`);
  command.action(async (...given: unknown[]) => {
    const options = command.optsWithGlobals<Global & O>();
    // Commander passes the options and the command after the arguments.
    const args = given.slice(0, -2) as string[];
    cli.exitCode = (await act(createSession(cli.world, options), options, ...args)) ?? 0;
  });
}

/**
 * `<x...>` can be repeated and takes one word each time. Commander itself would also take the arguments that follow.
 */
function addOption(command: Command, flags: string, description: string): void {
  if (!flags.includes('...')) return void command.option(flags, description);
  const collect = (value: string, before: string[] | undefined) => [...(before ?? []), value];
  command.option(flags.replace('...', ''), `${description}; may be repeated`, collect);
}

/** Adds a command that has subcommands, such as `destinations`. */
export function group(parent: Command, name: string, summary: string): Command {
  return parent.command(name).summary(summary).description(summary);
}

function createSession(world: ProcessContext, { url, json = false }: Global): Session {
  let place: Place | undefined;
  let api: Api | undefined;
  const findOnce = () => (place ??= findPlace(world, url));
  return {
    world,
    print: createPrinter(world, json),
    place: findOnce,
    api: () => (api ??= openApi(findOnce())),
  };
}

/** @throws CliError if the text is not a whole number in that range */
export function whole(text: string, name: string, [min, max]: [min: number, max: number]): number {
  const number = /^\d{1,9}$/.test(text) ? Number(text) : NaN;
  if (!(number >= min && number <= max)) {
    throw usage(`${name} must be a whole number from ${String(min)} to ${String(max)}, not "${text}".`);
  }
  return number;
}

/** @throws CliError if the text is not one of the choices */
export function oneOf<T extends string>(text: string, name: string, choices: readonly T[]): T {
  const found = choices.find((choice) => choice === text);
  if (found === undefined) throw usage(`${name} must be one of ${choices.join(', ')}, not "${text}".`);
  return found;
}

/** Splits `a,b , c`. */
export function listOf(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}
