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

/** The environment of a command line for the control that `playControl` plays. */
export const AT_CONTROL = { WAYPOST_URL: 'http://control.test', WAYPOST_TOKEN: 'token' };

/** A request of a command line to control. */
export interface Asked {
  method: string;
  /** below /api/v1 */
  path: string;
  query: URLSearchParams;
  /** text; null: none */
  body: string | null;
  ifMatch: string | null;
}

/**
 * Plays control for the command lines of this process, until `jest.restoreAllMocks`.
 * @param answer returns the JSON of a 200, or another response; undefined: 404
 */
export function playControl(answer: (asked: Asked) => object | undefined): void {
  jest.spyOn(globalThis, 'fetch').mockImplementation((input, init) => {
    const { pathname, searchParams } = new URL(input);
    const found = answer({
      method: init?.method ?? 'GET',
      path: pathname.replace('/api/v1', ''),
      query: searchParams,
      body: typeof init?.body === 'string' ? init.body : null,
      ifMatch: new Headers(init?.headers).get('if-match'),
    });
    const problem = { type: 'urn:waypost:problem:not_found', detail: 'Unknown' };
    return Promise.resolve(
      found instanceof Response
        ? found
        : Response.json(found ?? problem, { status: found ? 200 : 404 }),
    );
  });
}

/** Runs a command line for the control that `playControl` plays. */
export function atControl(...argv: string[]): Promise<Ran> {
  return waypost(argv, { env: AT_CONTROL });
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
