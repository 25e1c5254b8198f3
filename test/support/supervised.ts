import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SERVICES } from '../../deploy/standalone/service-list';
import { ROOT } from '../../shared/service/repo-root';
import { eventually, Final } from './eventually';

/** Runs a supervisor as a process of its own and looks at it from outside, as a terminal and `ps` would. */

/** A supervisor that was started. */
export interface Supervised {
  child: ChildProcess;
  pid: number;
  /** everything it has printed, stdout and stderr */
  output(): string;
  /** resolves with its exit code, or the name of the signal that ended it */
  exited: Promise<number | string>;
  /** @throws where it ends first, or has not printed the line after `deadlineMs`, with its output */
  printed(line: string, deadlineMs?: number): Promise<void>;
}

/** A process as `ps` shows it. */
export interface ProcessLine {
  pid: number;
  ppid: number;
  command: string;
}

const running = new Set<ChildProcess>();
// A test that failed before its `stop` must not leave a system behind; what it started ends with it.
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** Starts a command in the repository. The environment is the given one and what a program needs to run at all. */
export function startSupervised(command: string, args: string[], env: NodeJS.ProcessEnv): Supervised {
  const child = spawn(command, args, { cwd: ROOT, env: { ...bare(), ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  running.add(child);
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  }
  const exited = new Promise<number | string>((resolve) => {
    child.once('exit', (code, signal) => {
      running.delete(child);
      resolve(code ?? signal ?? 'unknown');
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
          if (child.exitCode !== null) throw new Final(`it ended with code ${String(child.exitCode)}:\n${text}`);
          throw new Error(`"${line}" was not printed:\n${text}`);
        },
        { deadlineMs },
      ),
  };
}

/** The environment of this process without the settings of Waypost, which belong to each system alone. */
function bare(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(WAYPOST_|KAFKA_|npm_|NODE_ENV$|JEST_)/.test(name)),
  );
}

/** All processes of this machine. */
export function processes(): ProcessLine[] {
  return execFileSync('ps', ['-A', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' })
    .split('\n')
    .flatMap((line) => {
      const [, pid, ppid, command] = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? [];
      return pid && ppid && command !== undefined ? [{ pid: Number(pid), ppid: Number(ppid), command }] : [];
    });
}

/** The processes under one, at any depth. Taken before a kill it tells who must be gone afterwards. */
export function descendants(pid: number): ProcessLine[] {
  const all = processes();
  const below = (parent: number): ProcessLine[] =>
    all.filter((line) => line.ppid === parent).flatMap((line) => [line, ...below(line.pid)]);
  return below(pid);
}

/**
 * Runs the supervisor with stand-ins for the services: up and ready at once, gone on SIGTERM.
 * @param dir where the stand-ins are written
 * @param stubs the program of a service that is to behave otherwise
 */
export function startWithStubs(
  dir: string,
  env: NodeJS.ProcessEnv,
  stubs: Partial<Record<(typeof SERVICES)[number], string>> = {},
): Supervised {
  mkdirSync(dir, { recursive: true });
  for (const name of SERVICES) writeFileSync(join(dir, `${name}.js`), stubs[name] ?? stub(name));
  const script = `
    const { supervise } = require(${JSON.stringify(join(ROOT, 'dist/deploy/standalone/supervisor.js'))});
    supervise({
      env: process.env,
      main: (name) => require('node:path').join(${JSON.stringify(dir)}, name + '.js'),
      onReady: async (system) => { system.output.say(JSON.stringify({ brokers: system.brokers })); system.output.say('waypost ready'); },
    }).then((code) => process.exit(code));`;
  return startSupervised(process.execPath, ['-e', script], env);
}

function stub(name: string): string {
  return `
    process.title = 'waypost-${name}';
    require('node:http').createServer((request, response) => response.end('{}'))
      .listen(process.env.WAYPOST_${name.toUpperCase()}_HEALTH_PORT, '127.0.0.1', () => process.send({ type: 'started' }));
    process.on('SIGTERM', () => { console.log('${name} stops'); process.exit(0); });
    process.on('disconnect', () => process.exit(0));`;
}
