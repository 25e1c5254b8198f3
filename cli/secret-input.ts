import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { messageOf } from '../shared/runtime/errors';
import { CliError, type ProcessContext } from './process-context';

/**
 * Reads secrets from a file, standard input, the environment or a prompt without echo. Never from
 * an argument, which `ps` shows.
 */

/**
 * @param file `-` is standard input
 * @returns its text without the line break at its end
 * @throws CliError
 */
export async function readSecretFile(world: ProcessContext, file: string): Promise<string> {
  const secret = (await readInput(world, file)).replace(/\r?\n$/, '');
  if (secret === '') {
    throw new CliError(
      `There is no secret in ${file === '-' ? 'standard input' : file}: it is empty.`,
    );
  }
  return secret;
}

/**
 * @param file `-` is standard input
 * @throws CliError
 */
export async function readInput(world: ProcessContext, file: string): Promise<string> {
  return (await readBytes(world, file)).toString('utf8');
}

/**
 * @param file `-` is standard input
 * @throws CliError
 */
export async function readBytes(world: ProcessContext, file: string): Promise<Buffer> {
  if (file !== '-') {
    try {
      return readFileSync(resolve(world.cwd, file));
    } catch (error) {
      throw new CliError(`${file} cannot be read: ${messageOf(error)}.`);
    }
  }
  const chunks: Buffer[] = [];
  for await (const chunk of world.stdin) chunks.push(Buffer.from(chunk as Uint8Array | string));
  return Buffer.concat(chunks);
}

/**
 * Prompts at a terminal, without echo; otherwise reads the first line of standard input.
 * @throws CliError if there is none
 */
export async function promptSecret(world: ProcessContext, question: string): Promise<string> {
  if (!world.stdin.isTTY) {
    const [line = ''] = (await readInput(world, '-')).split('\n');
    if (line.trim() === '') {
      throw new CliError(`${question}: send it on standard input or run this in a terminal.`);
    }
    return line.trim();
  }
  world.err(`${question}: `);
  // Discards the echo.
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: world.stdin, output: silent, terminal: true });
  lines.on('SIGINT', () => lines.close());
  try {
    return await Promise.race([
      lines.question(''),
      new Promise<never>((_, reject) =>
        lines.once('close', () => reject(new CliError('No input.'))),
      ),
    ]);
  } finally {
    lines.close();
    world.err('\n');
  }
}
