import { prettyFactory } from 'pino-pretty';

/**
 * The output of the terminal: log lines made readable for people, or unchanged JSON if stdout is a
 * pipe to a program.
 */

/** The destination of everything that is printed. */
export interface Output {
  /** a line of a service's stdout: JSON of pino, or any other text */
  log(line: string): void;
  /** an action of the supervisor */
  event(name: string, fields: Record<string, unknown>): void;
  /** a line of a service's stderr */
  error(line: string): void;
  /** a line for people, unchanged */
  say(line: string): void;
}

/** Creates the output of this process. */
export function createOutput(): Output {
  // A reader that goes away (`| head`, a closed terminal) must not end the system: drop the rest of
  // the output.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  const write = (line: string) => process.stdout.write(`${line}\n`);
  const log = process.stdout.isTTY ? (line: string) => write(readable(line)) : write;
  return {
    log,
    event: (msg, fields) =>
      log(
        JSON.stringify({
          level: 'warn',
          time: new Date().toISOString(),
          service: 'supervisor',
          ...fields,
          msg,
        }),
      ),
    error: (line) => process.stderr.write(`${line}\n`),
    say: write,
  };
}

const pretty = prettyFactory({
  colorize: !process.env.NO_COLOR,
  singleLine: true,
  translateTime: 'SYS:HH:MM:ss.l',
  ignore: 'pid,hostname,service',
  messageFormat: '{service} {msg}',
});

/** Formats a JSON log line for people, and returns any other line unchanged. */
function readable(line: string): string {
  return line.startsWith('{') ? pretty(line).trimEnd() : line;
}
