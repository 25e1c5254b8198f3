import { type ChildProcess, spawn } from 'node:child_process';
import { eventually, Final } from './eventually';
import { endChild } from '../../dev/child-process';

/** Time for a small program to end after SIGTERM. */
const STOP_MS = 20_000;

/** A program that a test runs and observes from outside. */
export interface Program {
  child: ChildProcess;
  /** everything it has printed so far */
  output(): string;
  /** Resolves with its exit code, or the name of the signal that ended it. */
  exited: Promise<number | string>;
  /** @returns the match in its output. @throws Error if it ends first or the deadline passes */
  printed(expression: RegExp, deadlineMs?: number): Promise<RegExpExecArray>;
  stop(): Promise<void>;
}

export function startProgram(
  command: string,
  args: string[],
  options: { cwd?: string; env?: Record<string, string> } = {},
): Program {
  const child = spawn(command, args, {
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  }
  const exited = new Promise<number | string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, signal) => resolve(code ?? signal ?? 'unknown'));
  });
  return {
    child,
    output: () => text,
    exited,
    printed: (expression, deadlineMs = 60_000) =>
      eventually(
        () => {
          const found = expression.exec(text);
          if (found) return found;
          const ended = child.exitCode ?? child.signalCode;
          const problem = `${command} ${args.join(' ')} printed:\n${text}`;
          throw ended === null ? new Error(problem) : new Final(problem);
        },
        { deadlineMs },
      ),
    stop: async () => {
      await endChild(child, exited, { deadlineMs: STOP_MS });
    },
  };
}
