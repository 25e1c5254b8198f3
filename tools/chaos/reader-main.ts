import { ACCESS, type OperationId } from '../../shared/api/access';
import { compact } from '../../shared/collections/defined';
import { percentile } from '../bench/arithmetic';
import { eventually } from '../../test/support/eventually';
import { call, type Json } from '../harness/api';
import { readArguments, runMain, UsageError } from '../harness/run-main';
import { type Sink, startSink } from '../harness/sink';
import { startSystem, type System } from '../harness/system';
import { residents } from '../harness/usage';
import { growthOf } from './flat-memory';
import {
  everyRead,
  type Kind,
  type Known,
  type ReaderRequest,
  readerRequests,
  READS,
} from './reader';

/**
 * `node dist/tools/chaos/reader-main.js [--minutes N] [--seed N] [--together]`: a read-only token
 * tries everything that it may (reader.ts), while others use the API and send
 * calls, and an endpoint answers them at length. It prints the slowest answers to the others and
 * the memory of the processes. It ends with 1 if an answer of control took a second, a process
 * ended, the memory of control grew (flat-memory.ts), or something that exists was never read.
 */

const USAGE = 'Usage: node dist/tools/chaos/reader-main.js [--minutes N] [--seed N] [--together]';
const CONNECTIONS = 8;
const EVENTS = 600;
const HONEST_EVERY_MS = 100;
const SAMPLE_EVERY_MS = 1_000;
/** in samples */
const REPORT_EVERY = 10;
/** A stream is closed after a while, and opened again. */
const STREAM_MS = 2_000;
const SLOWEST_MS = 1_000;
const NAMES = ['control', 'audiences', 'ingest'] as const;
/** A character that takes six bytes as JSON. */
const LONG_RESPONSE = '\u0001'.repeat(16_000);
const CONDITION = 'count("e", duration("720h")) > 1';
/** Previews end a minute after the last look at them. */
const KEPT_PREVIEWS = 8;

const say = (line: string) => process.stdout.write(`${line}\n`);
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

interface Options {
  forMs: number;
  seed: number;
  together: boolean;
}

function readOptions(): Options {
  const text = { type: 'string' } as const;
  const known = {
    minutes: text,
    seed: text,
    together: { type: 'boolean' },
  } as const;
  const { values } = readArguments({ options: known }, USAGE);
  const options = {
    forMs: Number(values.minutes ?? 10) * 60_000,
    seed: Number(values.seed ?? Math.floor(Math.random() * 1e9)),
    together: values.together === true,
  };
  if (!(options.forMs > 0 && options.seed >= 0)) {
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
  /** operations that the reader got an answer with a 2xx from */
  answered: Set<OperationId>;
  failed: number;
}

interface Reader {
  system: System;
  token: string;
  /** with the previews that it has made */
  known: Known;
  figures: Figures;
}

async function main(): Promise<boolean> {
  const options = readOptions();
  say(`seed ${options.seed}`);
  const sink = await startSink();
  const system = await startSystem({ embedded: true, together: options.together });
  try {
    return await run(system, sink, options);
  } finally {
    await system.stop();
    await sink.close();
  }
}

async function run(system: System, sink: Sink, { forMs, seed }: Options): Promise<boolean> {
  const { known, writeKey, token } = await prepare(system, sink);
  const pids = processesOf(system);
  const figures: Figures = {
    control: [],
    history: [],
    ingest: [],
    statuses: {},
    answered: new Set(),
    failed: 0,
  };
  const reader = { system, token, known, figures };
  for (const request of everyRead(seed, known)) await tryOne(reader, request);
  const controlMb: number[] = [];
  const until = performance.now() + forMs;
  const isOver = () => performance.now() >= until;
  const requests = readerRequests(seed, known);
  const attack = async () => {
    while (!isOver()) await tryOne(reader, requests.next().value);
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
      await pause(SAMPLE_EVERY_MS);
      const memory = residents(pids);
      controlMb.push(memory.control ?? NaN);
      if (controlMb.length % REPORT_EVERY === 0) say(line(figures, memory));
      // Only the answers of the endpoints count.
      sink.requests.length = 0;
    }
  };
  await Promise.all([
    ...Array.from({ length: CONNECTIONS }, attack),
    honest(figures.control, () => system.control('GET', '/sources')),
    honest(figures.history, () => system.control('GET', '/deliveries?limit=20')),
    honest(figures.ingest, () =>
      system.send(writeKey, 'track', { userId: 'u1', event: 'e', properties: { total: 1 } }),
    ),
    watch(),
  ]);
  say(`statuses of the reader: ${JSON.stringify(figures.statuses)}`);
  const problems = problemsOf(system, pids, figures, controlMb);
  for (const problem of problems) say(problem);
  return problems.length === 0;
}

function problemsOf(
  system: System,
  pids: Record<string, number>,
  { control, history, answered, failed }: Figures,
  controlMb: readonly number[],
): string[] {
  const isAlive = JSON.stringify(processesOf(system)) === JSON.stringify(pids);
  const slowest = Math.max(...control, ...history);
  const { first, last, isFlat } = growthOf(controlMb);
  say(`control: ${first.toFixed(0)} MB in the first third, ${last.toFixed(0)} MB in the last`);
  const missed = READS.filter((id) => mustAnswer(id) && !answered.has(id));
  return compact([
    isAlive ? undefined : 'a process ended and was started again',
    failed === 0 ? undefined : `${String(failed)} requests of others failed`,
    slowest < SLOWEST_MS ? undefined : `an answer of control took ${slowest.toFixed(0)} ms`,
    isFlat ? undefined : 'the memory of control grew',
    missed.length === 0 ? undefined : `never read: ${missed.join(', ')}`,
  ]);
}

/** A preview may be refused for what it asks, and another role's operation always is. */
function mustAnswer(id: OperationId): boolean {
  return id.startsWith('GET ') && ACCESS[id].role !== 'admin';
}

async function prepare(system: System, sink: Sink) {
  const { control } = system;
  const made = async (path: string, body: object) => {
    const answer = await control('POST', path, body);
    if (answer.status >= 300) throw new Error(`${path}: ${JSON.stringify(answer.body)}`);
    return answer.body as { id: string };
  };
  const { id: source, writeKey } = await system.createSource();
  const sources = [source];
  sink.on('/long', (_, nth) => ({ status: nth % 3 === 0 ? 200 : 425, body: LONG_RESPONSE }));
  sink.on('/gone', { status: 410 });
  const filter = 'messageId.matches("[0-9a-f-]*[0-7][0-9a-f-]{20}[g-z]")';
  const common = { sources, signature: { ed25519: true } };
  const destinations = await Promise.all([
    system.createDestination({ ...common, webhooks: [{ url: sink.url('/long') }] }),
    system.createDestination({ ...common, webhooks: [{ url: sink.url('/gone') }] }),
    system.createDestination({
      ...common,
      webhooks: [{ url: 'https://127.0.0.1:9/' }],
      filter,
      paused: true,
    }),
  ]);
  const [long, gone] = destinations;
  for (let i = 0; i < EVENTS; i += 50) {
    const batch = Array.from({ length: 50 }, (_, k) => ({
      type: 'track',
      userId: `u${String((i + k) % 97)}`,
      event: 'e',
      properties: { list: Array.from({ length: 50 }, (__, n) => n) },
    }));
    await system.send(writeKey, 'batch', { batch });
  }
  const audience = await made('/audiences', { name: 'Audience', condition: CONDITION });
  const trait = { name: 'Trait', compute: 'count', event: 'e' };
  const computed = await made('/computed-traits', trait);
  const deletion = await made('/deletions', { userIds: ['somebody'] });
  const reader = await control('POST', '/tokens', { name: 'reader', role: 'read_only' });
  const { id: tokenId, token } = reader.body as { id: string; token: string };
  const listed = (path: string): Promise<Json[]> =>
    eventually(async () => {
      const { body } = await control('GET', path);
      if (!(body.data?.length > 0)) throw new Error(`${path} has nothing yet`);
      return body.data;
    });
  const deliveries = await listed(`/deliveries?destination=${long.id}&attempted=true&limit=100`);
  const notices = await listed(`/notices?destination=${gone.id}`);
  const events = await listed('/events?accepted=true&limit=50');
  const replay = await made('/replays', { destination: long.id, includeDelivered: true });
  const preview = await eventually(() => made('/audiences/preview', { condition: CONDITION }));
  const idsOf = (things: readonly { id: string }[]) => things.map(({ id }) => id);
  const ids: Record<Kind, string[]> = {
    '/sources': sources,
    '/destinations': idsOf(destinations),
    '/deliveries': idsOf(deliveries),
    '/audiences': [audience.id],
    '/audiences/previews': [preview.id],
    '/computed-traits': [computed.id],
    '/deletions': [deletion.id],
    '/replays': [replay.id],
    '/notices': idsOf(notices),
    '/tokens': [tokenId],
  };
  const messages = events.map((event) => event.call.messageId as string);
  return { known: { ids, messages }, writeKey, token };
}

function processesOf(system: System): Record<string, number> {
  return Object.fromEntries(NAMES.map((name) => [name, system.pids(name)[0] ?? 0]));
}

async function tryOne(
  { system, token, known, figures }: Reader,
  { operation, method, path, body, stream }: ReaderRequest,
): Promise<void> {
  const url = `${system.controlUrl}/api/v1${path}`;
  const headers = { authorization: `Bearer ${token}` };
  const { statuses, answered } = figures;
  const status = stream
    ? await streamStatus(url, headers)
    : await call(method, url, headers, body as Json).then(
        (answer) => {
          if (operation === 'POST /audiences/preview' && answer.status === 201) {
            const previews = known.ids['/audiences/previews'];
            known.ids['/audiences/previews'] = [...previews, answer.body.id].slice(-KEPT_PREVIEWS);
          }
          return String(answer.status);
        },
        (error: unknown) => (error instanceof Error ? error.name : 'failed'),
      );
  statuses[status] = (statuses[status] ?? 0) + 1;
  if (/\b2\d\d$/.test(status)) answered.add(operation);
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
