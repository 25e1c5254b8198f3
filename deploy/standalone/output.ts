import { prettyFactory } from 'pino-pretty';

/** What the terminal shows: log lines made readable for people, or left as JSON where stdout goes to a program. */

/** Where everything that is shown goes through. */
export interface Output {
  /** a line of a service's stdout: JSON as pino writes it, or whatever else it printed */
  log(line: string): void;
  /** something that the supervisor itself did */
  event(name: string, fields: Record<string, unknown>): void;
  /** a line of a service's stderr */
  error(line: string): void;
  /** a line for people, as it is */
  say(line: string): void;
}

/** The output of this process. */
export function createOutput(): Output {
  // A reader that goes away (`| head`, a closed terminal) must not end the system: what it would have read is dropped.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  const write = (line: string) => process.stdout.write(`${line}\n`);
  const log = process.stdout.isTTY ? (line: string) => write(readable(line)) : write;
  return {
    log,
    event: (msg, fields) =>
      log(JSON.stringify({ level: 'warn', time: new Date().toISOString(), service: 'supervisor', ...fields, msg })),
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

/** A JSON log line as a person reads it; any other line as it is. */
function readable(line: string): string {
  return line.startsWith('{') ? pretty(line).trimEnd() : line;
}
