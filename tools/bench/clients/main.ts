import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo } from 'node:net';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { ROOT } from '../../../shared/runtime/repo-root';
import { median, readable } from '../arithmetic';
import { table } from '../report/table';

/**
 * Compares Waypost's clients with established ones, each at its defaults, against a server that
 * accepts everything. They alternate, and the medians of the rounds are compared: the cost of a
 * call for its program, and the rate at which calls leave it.
 */

const run = promisify(execFile);
const ROUNDS = 5;
const MARK = Buffer.from('"type":"track"');

interface Contestant {
  language: 'Go' | 'Node';
  name: string;
  which: 'waypost' | 'segment';
  calls: number;
}

const CONTESTANTS: readonly Contestant[] = [
  { language: 'Go', name: 'waypost', which: 'waypost', calls: 200_000 },
  { language: 'Go', name: 'analytics-go v3', which: 'segment', calls: 200_000 },
  { language: 'Node', name: '@waypost/node', which: 'waypost', calls: 50_000 },
  { language: 'Node', name: '@segment/analytics-node', which: 'segment', calls: 50_000 },
];

interface Measured {
  callsPerS: number;
  cpuUs: number;
  peakMb: number;
  /** calls that the server received: fewer than were sent means that the client loses calls */
  arrived: number;
}

async function main(): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'waypost-bench-clients-'));
  const server = await startServer();
  try {
    const binary = join(dir, 'go');
    await run('go', ['build', '-o', binary, '.'], { cwd: join(ROOT, 'tools/bench/clients/go') });
    const results = new Map<Contestant, Measured[]>(
      CONTESTANTS.map((contestant) => [contestant, []]),
    );
    for (let round = 1; round <= ROUNDS; round++) {
      for (const contestant of CONTESTANTS) {
        process.stderr.write(`round ${round} of ${ROUNDS}: ${contestant.name}\n`);
        results.get(contestant)?.push(await measure(contestant, binary, server));
      }
    }
    console.log(report(results));
  } finally {
    await server.close();
    rmSync(dir, { recursive: true, force: true });
  }
}

async function measure(
  contestant: Contestant,
  binary: string,
  server: CountingServer,
): Promise<Measured> {
  const { language, which, calls } = contestant;
  const command =
    language === 'Go' ? [binary] : [process.execPath, join(ROOT, 'tools/bench/clients/node.cjs')];
  const before = server.calls();
  const { stdout } = await run(command[0] ?? '', [
    ...command.slice(1),
    which,
    server.url,
    String(calls),
  ]);
  const { ms, cpuMs, peakKb } = JSON.parse(stdout) as { ms: number; cpuMs: number; peakKb: number };
  return {
    callsPerS: (calls / ms) * 1000,
    cpuUs: (cpuMs / calls) * 1000,
    peakMb: peakKb / 1024,
    arrived: server.calls() - before,
  };
}

function report(results: ReadonlyMap<Contestant, Measured[]>): string {
  const rows = [['', 'client', 'calls/s', 'CPU µs a call', 'peak MB', 'calls', 'arrived']];
  for (const [{ language, name, calls }, rounds] of results) {
    const middle = (figure: keyof Measured) =>
      readable(median(rounds.map((round) => round[figure])));
    rows.push([
      language,
      name,
      middle('callsPerS'),
      middle('cpuUs'),
      middle('peakMb'),
      readable(calls),
      middle('arrived'),
    ]);
  }
  const lines = [
    `${ROUNDS} rounds, medians; Node ${process.version}; ${cpus().length} cores`,
    '',
    table(rows),
    '',
  ];
  for (const language of ['Go', 'Node'] as const) {
    const of = (which: string, figure: keyof Measured) => {
      const [, rounds = []] =
        [...results].find(([c]) => c.language === language && c.which === which) ?? [];
      return median(rounds.map((round) => round[figure]));
    };
    const speed = of('waypost', 'callsPerS') / of('segment', 'callsPerS');
    const cpu = of('waypost', 'cpuUs') / of('segment', 'cpuUs');
    lines.push(`${language}: ${readable(speed)} × the throughput, ${readable(cpu)} × the CPU`);
  }
  return lines.join('\n');
}

interface CountingServer {
  url: string;
  calls(): number;
  close(): Promise<void>;
}

async function startServer(): Promise<CountingServer> {
  let calls = 0;
  const server = createServer((request, response) => {
    void count(request).then((found) => {
      calls += found;
      response.setHeader('content-type', 'application/json').end('{"success":true}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls: () => calls,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function count(request: IncomingMessage): Promise<number> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const raw = Buffer.concat(chunks);
  const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(raw) : raw;
  let found = 0;
  for (let at = body.indexOf(MARK); at >= 0; at = body.indexOf(MARK, at + MARK.length)) found++;
  return found;
}

void main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
