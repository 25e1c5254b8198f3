import { fork } from 'node:child_process';
import { once } from 'node:events';
import { type Mood, startHttpProxy } from '../../../test/support/egress-proxies';

/** An egress proxy in a separate process, since it shares the work of no other one. */

const PROXY_MAIN = __filename;

export interface BenchProxy {
  /** http://host:port */
  url: string;
  pid: number;
  /** Works or misbehaves from now on, on its open connections too. */
  behave(mood: Mood): void;
  stop(): void;
}

export async function startProxy(): Promise<BenchProxy> {
  const child = fork(PROXY_MAIN, [], { execArgv: [] });
  const [port] = (await once(child, 'message')) as [number];
  return {
    url: `http://127.0.0.1:${String(port)}`,
    pid: child.pid ?? 0,
    behave: (mood) => child.send(mood),
    stop: () => void child.kill('SIGKILL'),
  };
}

async function main(): Promise<void> {
  process.title = 'waypost-bench-proxy';
  const proxy = await startHttpProxy();
  process.on('message', (mood) => proxy.behave(mood as Mood));
  // The parent has ended.
  process.on('disconnect', () => process.exit());
  process.send?.(proxy.port);
}

if (require.main === module) void main();
