import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { printableLines } from '../shared/runtime/printable';
import { CliError, type ProcessContext, usage } from './process-context';

/**
 * Commands that end, delete or replace something ask first, with the name and the number of what
 * they would end. Where nobody can answer, they need `--yes`.
 */

export const YES: [flags: string, description: string] = [
  '--yes',
  'do not ask; needed where nobody can answer',
];

/**
 * Asks, and returns if the answer is yes.
 * @param question computed only if somebody is asked
 * @throws CliError
 */
export type Confirm = (question: () => string | Promise<string>) => Promise<void>;

export function createConfirm(world: ProcessContext, saidYes: boolean): Confirm {
  return async (question) => {
    if (saidYes) return;
    requireTerminal(world);
    if (!/^y(es)?$/i.test(await answerTo(world, await question()))) {
      throw new CliError('Nothing was done.');
    }
  };
}

/** @throws CliError if nobody can answer */
export function requireTerminal({ stdin }: ProcessContext): void {
  if (stdin.isTTY) return;
  throw usage(
    'Nothing was done. This ends, deletes or replaces something, and there is no terminal to ask ' +
      'at: check what the command names, and add --yes.',
  );
}

/** Ctrl-C and the end of the input are no answer. */
async function answerTo(world: ProcessContext, question: string): Promise<string> {
  const output = new Writable({
    write: (chunk: Buffer, _, done) => {
      world.err(chunk.toString());
      done();
    },
  });
  const lines = createInterface({ input: world.stdin, output, terminal: true });
  lines.on('SIGINT', () => lines.close());
  try {
    return await Promise.race([
      lines.question(`${printableLines(question)} [y/N] `),
      new Promise<string>((resolve) => lines.once('close', () => resolve(''))),
    ]);
  } finally {
    lines.close();
    world.err('\n');
  }
}

/** `1 delivery`, `3,209 deliveries` */
export function counted(n: number, one: string, many = `${one}s`): string {
  return `${n.toLocaleString('en')} ${n === 1 ? one : many}`;
}
