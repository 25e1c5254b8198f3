import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { setTimeout as pause } from 'node:timers/promises';
import { type ServiceName } from '../../deploy/standalone/service-list';
import { ROOT } from '../../shared/service/repo-root';
import { eventually } from '../../test/support/eventually';
import { startSink } from '../harness/sink';
import { startSystem, type System } from '../harness/system';

/**
 * `npm run structure:path`: sends one call to a running system, and prints the files of services and shared that it passes
 * from HTTP to the POST. Each of them has a function that runs for the call, and does not run while nothing is sent.
 */

const PASSED: readonly ServiceName[] = ['ingest', 'router', 'delivery'];
/** Longer than the interval of any background work that recurs within seconds. */
const IDLE_MS = 12_000;
const BASE = pathToFileURL(join(ROOT, 'dist/')).href;

async function main(): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'waypost-coverage-'));
  const probe = join(ROOT, 'dist/tools/structure/coverage-probe.js');
  const env = { NODE_OPTIONS: `--require ${probe}`, COVERAGE_DIR: dir };
  const system = await startSystem({ embedded: true, env });
  const sink = await startSink();
  try {
    const source = await system.createSource();
    await system.createDestination({ sources: [source.id], webhooks: [{ url: sink.url('/hook') }] });
    const send = async (nth: number) => {
      await system.send(source.writeKey, 'track', { event: 'Seen', userId: 'kim', messageId: `call-${String(nth)}` });
      await eventually(() => sink.received('/hook').length >= nth || Promise.reject(new Error('not delivered')));
    };
    // The first call also loads, connects and compiles.
    await send(1);
    await pause(1_000);
    await takeAll(system, dir, 0);
    await pause(IDLE_MS);
    const idle = await takeAll(system, dir, 1);
    await send(2);
    await pause(500);
    const busy = await takeAll(system, dir, 2);
    print(new Set([...busy].filter((each) => !idle.has(each))));
  } finally {
    await sink.close();
    await system.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}

async function takeAll(system: System, dir: string, nth: number): Promise<Set<string>> {
  const functions = new Set<string>();
  for (const name of PASSED) {
    for (const pid of system.pids(name)) process.kill(pid, 'SIGUSR2');
    const path = join(dir, `${name}.${String(nth)}`);
    await eventually(() => existsSync(path) || Promise.reject(new Error(`${name} has written no coverage`)));
    await pause(200);
    for (const line of readFileSync(path, 'utf8').split('\n')) functions.add(`${name} ${line}`);
  }
  return functions;
}

function print(functions: ReadonlySet<string>): void {
  const byFile = new Map<string, Set<string>>();
  for (const line of functions) {
    const [, url = '', , name = ''] = line.split(' ');
    if (!url.startsWith(BASE)) continue;
    const file = url.slice(BASE.length).replace(/\.js$/, '.ts');
    if (!/^(services|shared)\//.test(file)) continue;
    byFile.set(file, (byFile.get(file) ?? new Set()).add(name || '(anonymous)'));
  }
  for (const [file, names] of [...byFile].sort()) console.log(`${file}: ${[...names].join(', ')}`);
  console.log(`${String(byFile.size)} files`);
}

void main();
