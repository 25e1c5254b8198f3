import { Readable } from 'node:stream';
import { run } from '../../cli/run';
import { type ProcessContext } from '../../cli/process-context';
import { eventually, Final } from './eventually';

/** Runs a command line in this process, with its own process context. */

export interface Ran {
  code: number;
  out: string;
  err: string;
  /** what `--json` printed */
  json: Record<string, unknown>[];
}

export interface Running {
  out(): string;
  err(): string;
  /**
   * @throws Error if it ends first, or has not printed a match after `deadlineMs` (default: that of
   *   `eventually`)
   */
  said(expression: RegExp, deadlineMs?: number): Promise<void>;
  /** Interrupts it, as Ctrl-C does. */
  interrupt(): Promise<Ran>;
  ended: Promise<Ran>;
}

export type Surroundings = Partial<Pick<ProcessContext, 'env' | 'cwd' | 'home' | 'terminal'>> & {
  input?: string | Buffer;
  /** replaces `input`, for example by a terminal */
  stdin?: ProcessContext['stdin'];
};

export function begin(argv: string[], around: Surroundings = {}): Running {
  const {
    input = '',
    env = {},
    cwd = process.cwd(),
    home = '/nonexistent',
    terminal = false,
  } = around;
  const stop = new AbortController();
  const said = { out: '', err: '' };
  let over = false;
  const ended = run(argv, {
    env,
    cwd,
    home,
    terminal,
    stop: stop.signal,
    stdin: around.stdin ?? Readable.from([Buffer.from(input)]),
    out: (text) => (said.out += text),
    err: (text) => (said.err += text),
  }).then((code) => {
    over = true;
    return { code, ...said, json: said.out.startsWith('{') ? lines(said.out) : [] };
  });
  return {
    out: () => said.out,
    err: () => said.err,
    said: (expression, deadlineMs) =>
      eventually(
        () => {
          if (expression.test(said.out + said.err)) return;
          const text = `${argv.join(' ')} said: ${said.out}${said.err}`;
          throw over ? new Final(text) : new Error(text);
        },
        deadlineMs === undefined ? {} : { deadlineMs },
      ),
    interrupt: () => {
      stop.abort();
      return ended;
    },
    ended,
  };
}

export function waypost(argv: string[], around: Surroundings = {}): Promise<Ran> {
  return begin(argv, around).ended;
}

function lines(text: string): Record<string, unknown>[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('{') && line.endsWith('}'))
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}
