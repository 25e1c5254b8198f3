import { percentile } from '../bench/arithmetic';
import { call, type Json } from '../harness/api';
import { startSystem, type System } from '../harness/system';
import { residents } from '../harness/usage';
import { readerRequests } from './reader';
import { readArguments, runMain, UsageError } from '../harness/run-main';

/**
 * `node dist/tools/chaos/reader-main.js [--minutes N] [--seed N] [--connections N] [--together]`: a
 * read-only token tries everything that it may (reader.ts), while others use the API and send
 * calls. It prints the slowest answers to the others and the memory of control, and ends with 1 if
 * an answer of control took a second or a process ended.
 */

const USAGE =
  'Usage: node dist/tools/chaos/reader-main.js [--minutes N] [--seed N] [--connections N] ' +
  '[--together]';
const EVENTS = 600;
const HONEST_EVERY_MS = 100;
const REPORT_EVERY_MS = 10_000;
/** A stream is closed after a while, and opened again. */
const STREAM_MS = 2_000;
const SLOWEST_MS = 1_000;
const NAMES = ['control', 'audiences', 'ingest'] as const;

const say = (line: string) => process.stdout.write(`${line}\n`);
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

interface Options {
  forMs: number;
  seed: number;
  connections: number;
  together: boolean;
}

function readOptions(): Options {
  const text = { type: 'string' } as const;
  const known = {
    minutes: text,
    seed: text,
    connections: text,
    together: { type: 'boolean' },
  } as const;
  const { values } = readArguments({ options: known }, USAGE);
  const options = {
    forMs: Number(values.minutes ?? 10) * 60_000,
    seed: Number(values.seed ?? Math.floor(Math.random() * 1e9)),
    connections: Number(values.connections ?? 8),
    together: values.together === true,
  };
  if (!(options.forMs > 0 && options.seed >= 0 && options.connections > 0)) {
    throw new UsageError(USAGE);
  }
  return options;
}

/** Response times of honest requests, and the statuses of the reader's. */
interface Figures {
  control: number[];
  /** of control, from its database */
  history: number[];
  ingest: number[];
  statuses: Record<string, number>;
  failed: number;
}

async function main(): Promise<boolean> {
  const options = readOptions();
  say(`seed ${options.seed}`);
  const system = await startSystem({ embedded: true, together: options.together });
  try {
    return await run(system, options);
  } finally {
    await system.stop();
  }
}

async function run(system: System, { forMs, seed, connections }: Options): Promise<boolean> {
  const { known, writeKey, token } = await prepare(system);
  const pids = processesOf(system);
  const figures: Figures = {
    control: [],
    history: [],
    ingest: [],
    statuses: {},
    failed: 0,
  };
  const memory: Record<string, number>[] = [];
  const until = performance.now() + forMs;
  const isOver = () => performance.now() >= until;
  const requests = readerRequests(seed, known);
  const attack = async () => {
    while (!isOver()) await tryOne(system, requests, token, figures.statuses);
  };
  const honest = async (times: number[], use: () => Promise<{ status: number }>) => {
    while (!isOver()) {
      const startedAt = performance.now();
      const status = await use().then(
        (answer) => answer.status,
        () => 0,
      );
      if (status !== 200) figures.failed++;
      times.push(performance.now() - startedAt);
      await pause(HONEST_EVERY_MS);
    }
  };
  const watch = async () => {
    while (!isOver()) {
      await pause(REPORT_EVERY_MS);
      memory.push(residents(pids));
      say(line(figures, memory.at(-1) ?? {}));
    }
  };
  await Promise.all([
    ...Array.from({ length: connections }, attack),
    honest(figures.control, () => system.control('GET', '/sources')),
    honest(figures.history, () => system.control('GET', '/deliveries?limit=20')),
    honest(figures.ingest, () =>
      system.send(writeKey, 'track', { userId: 'u1', event: 'e', properties: { total: 1 } }),
    ),
    watch(),
  ]);
  say(`statuses of the reader: ${JSON.stringify(figures.statuses)}`);
  const isAlive = JSON.stringify(processesOf(system)) === JSON.stringify(pids);
  if (!isAlive) say('a process ended and was started again');
  const slowest = Math.max(...figures.control, ...figures.history);
  return isAlive && figures.failed === 0 && slowest < SLOWEST_MS;
}

async function prepare(system: System) {
  const { id, writeKey } = await system.createSource();
  const webhooks = [{ url: 'https://127.0.0.1:9/' }];
  const filter = 'messageId.matches("[0-9a-f-]*[0-7][0-9a-f-]{20}[g-z]")';
  const made = await system.createDestination({ sources: [id], webhooks, filter, paused: true });
  for (let i = 0; i < EVENTS; i += 50) {
    const batch = Array.from({ length: 50 }, (_, k) => ({
      type: 'track',
      userId: `u${String((i + k) % 97)}`,
      event: 'e',
      properties: { list: Array.from({ length: 50 }, (__, n) => n) },
    }));
    await system.send(writeKey, 'batch', { batch });
  }
  const created = await system.control('POST', '/tokens', { name: 'reader', role: 'read_only' });
  const { token } = created.body as { token: string };
  return { known: { sources: [id], destinations: [made.id] }, writeKey, token };
}

function processesOf(system: System): Record<string, number> {
  return Object.fromEntries(NAMES.map((name) => [name, system.pids(name)[0] ?? 0]));
}

async function tryOne(
  { controlUrl }: System,
  requests: ReturnType<typeof readerRequests>,
  token: string,
  statuses: Figures['statuses'],
): Promise<void> {
  const { method, path, body, stream } = requests.next().value;
  const url = `${controlUrl}/api/v1${path}`;
  const headers = { authorization: `Bearer ${token}` };
  const status = stream
    ? await streamStatus(url, headers)
    : await call(method, url, headers, body as Json).then(
        (answer) => String(answer.status),
        (error: unknown) => (error instanceof Error ? error.name : 'failed'),
      );
  statuses[status] = (statuses[status] ?? 0) + 1;
}

async function streamStatus(url: string, headers: Record<string, string>): Promise<string> {
  try {
    const response = await fetch(url, { headers, signal: AbortSignal.timeout(STREAM_MS) });
    // Ends with the signal.
    await response.text().catch(() => undefined);
    return `stream ${String(response.status)}`;
  } catch {
    return 'stream ended';
  }
}

function line({ control, history, ingest, failed }: Figures, mb: Record<string, number>): string {
  const of = (times: readonly number[]) =>
    `${percentile(times, 0.5).toFixed(0)}/${percentile(times, 0.99).toFixed(0)}/` +
    `${Math.max(...times).toFixed(0)} ms`;
  const memory = Object.entries(mb).map(([name, size]) => `${name} ${size.toFixed(0)}`);
  return (
    `others, median/99 %/slowest: control ${of(control)}, history ${of(history)}, ` +
    `ingest ${of(ingest)}, ${failed} failed; MB: ${memory.join(', ')}`
  );
}

runMain(main);
