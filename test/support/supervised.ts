import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SERVICES } from '../../bin/service-list';
import { endChild } from '../../dev/child-process';
import { type ProcessId, processId } from '../../shared/runtime/process-id';
import { ROOT } from '../../shared/runtime/repo-root';
import { eventually, Final } from './eventually';

/**
 * Runs a supervisor or a service as a separate process and observes it from outside, as a terminal
 * and `ps` would.
 */

/** A process that a test started. */
export interface Supervised {
  child: ChildProcess;
  pid: number;
  /** everything it has printed, stdout and stderr */
  output(): string;
  /**
   * Resolves with its exit code, or the name of the signal that ended it. After an exit code the
   * output is complete.
   */
  exited: Promise<number | string>;
  /**
   * @throws Error with its output if it ends first, or has not printed the line after `deadlineMs`
   */
  printed(line: string, deadlineMs?: number): Promise<void>;
  /** Sends the signal, and SIGKILL after `deadlineMs`. Resolves as `exited` does. */
  end(signal: NodeJS.Signals, deadlineMs?: number): Promise<number | string>;
}

/** A process as `ps` shows it. */
export interface ProcessLine {
  pid: number;
  ppid: number;
  command: string;
}

/** A supervisor gives each of four groups of services 26 s to stop, and its broker 20 s. */
const END_MS = 130_000;
/**
 * The last lines of a process may arrive after its exit; a child of it that keeps the pipe open
 * must not hold a test.
 */
const OUTPUT_MS = 5_000;

const running = new Set<ChildProcess>();
// For benchmarks and the chaos test. Jest gives tests a copy of `process` without this event: see
// environment.ts.
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/**
 * Starts a command in the repository, with the given environment and the variables that any program
 * needs.
 */
export function startSupervised(
  command: string,
  args: string[],
  env: NodeJS.ProcessEnv,
): Supervised {
  const child = spawn(command, args, {
    cwd: ROOT,
    env: { ...bare(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  }
  let ending: number | string | undefined;
  const exited = new Promise<number | string>((resolve) => {
    const end = (how: number | string) => {
      ending = how;
      resolve(how);
    };
    child.once('error', (error) => end(error.message));
    child.once('exit', (code, signal) => {
      running.delete(child);
      if (code === null) return end(signal ?? 'unknown');
      child.once('close', () => end(code));
      setTimeout(() => end(code), OUTPUT_MS).unref();
    });
  });
  return {
    child,
    pid: child.pid!,
    output: () => text,
    exited,
    printed: (line, deadlineMs = 60_000) =>
      eventually(
        () => {
          if (text.split('\n').includes(line)) return;
          if (ending !== undefined) throw new Final(`it ended with ${String(ending)}:\n${text}`);
          throw new Error(`"${line}" was not printed:\n${text}`);
        },
        { deadlineMs },
      ),
    end: (signal, deadlineMs = END_MS) => endChild(child, exited, { signal, deadlineMs }),
  };
}

/**
 * Returns the environment of this process without the settings of Waypost: each system has its own.
 */
function bare(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !/^(WAYPOST_|KAFKA_|npm_|NODE_ENV$|JEST_)/.test(name),
    ),
  );
}

/** Lists all processes of this machine. */
export function processes(): ProcessLine[] {
  return execFileSync('ps', ['-A', '-o', 'pid=,ppid=,args='], { encoding: 'utf8', maxBuffer: 16e6 })
    .split('\n')
    .flatMap((line) => {
      const [, pid, ppid, command] = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? [];
      return pid && ppid && command !== undefined
        ? [{ pid: Number(pid), ppid: Number(ppid), command }]
        : [];
    });
}

/** Lists the processes under one, at any depth. */
export function descendants(pid: number): ProcessLine[] {
  const all = processes();
  const below = (parent: number): ProcessLine[] =>
    all.filter((line) => line.ppid === parent).flatMap((line) => [line, ...below(line.pid)]);
  return below(pid);
}

/**
 * Identifies the processes under one, at any depth. Taken before a kill, the list names the
 * processes that must be gone afterwards.
 */
export function descendantIds(pid: number): ProcessId[] {
  return descendants(pid).flatMap((line) => processId(line.pid) ?? []);
}

/**
 * Runs the supervisor with stub services, which are ready immediately and exit on SIGTERM.
 * @param dir folder that the stubs are written to
 * @param stubs programs of services that behave differently
 */
export function startWithStubs(
  dir: string,
  env: NodeJS.ProcessEnv,
  stubs: Partial<Record<(typeof SERVICES)[number], string>> = {},
): Supervised {
  mkdirSync(dir, { recursive: true });
  for (const name of SERVICES) writeFileSync(join(dir, `${name}.js`), stubs[name] ?? stub(name));
  const script = `
    const { supervise } = require(${JSON.stringify(join(ROOT, 'dist/dev/supervisor.js'))});
    supervise({
      env: process.env,
      entry: (name) => [require('node:path').join(${JSON.stringify(dir)}, name + '.js')],
      onReady: async ({ brokers, output }) => {
        output.say(JSON.stringify({ brokers }));
        output.say('waypost ready');
      },
    }).then((code) => process.exit(code));`;
  return startSupervised(process.execPath, ['-e', script], env);
}

function stub(name: string): string {
  return `
    process.title = 'waypost-${name}';
    const port = process.env.WAYPOST_${name.toUpperCase()}_HEALTH_PORT;
    require('node:http').createServer((request, response) => response.end('{}'))
      .listen(port, '127.0.0.1', () => process.send({ type: 'started' }));
    process.on('SIGTERM', () => { console.log('${name} stops'); process.exit(0); });
    process.on('disconnect', () => process.exit(0));`;
}
