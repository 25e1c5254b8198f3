import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { defined } from '../../shared/collections/defined';
import { kafkaAddress } from '../../shared/kafka/client/connection';
import { messageOf } from '../../shared/runtime/errors';
import { loadSettings } from '../../shared/runtime/settings';
import { eventually } from '../../test/support/eventually';
import { type Load, startLoad } from '../harness/load';
import { startSystem, type System } from '../harness/system';
import { type BrokerControl, clusterBrokers, embeddedBroker } from './broker-control';
import { callMaker, PARTS, type Role, ROLES } from './scenario';
import { type Cluster, startCluster } from './cluster';
import { type Endpoints, openEndpoints } from './endpoints';
import { Injector } from './injector';
import { type Cuts, type Evidence, misshown, verifyRun, type Verdict } from './verify-run';
import { KafkaView } from './kafka-view';
import { type ChaosOptions } from './options';
import { planFaults } from './fault-plan';
import { randomOf } from '../harness/random';
import { readHistory, traceMessages } from './read-history';
import { readShownHistory } from './shown-history';
import { deleteUsers } from './user-deletions';
import { WrongClocks } from './wrong-clocks';
import { describeVerdict, violationsOf } from './report';

/** One run: a system under load, faults, a quiet phase, and the verdict. */

export interface Outcome {
  verdict: Verdict;
  /** violated promises; empty in a good run */
  violations: string[];
  faults: number;
  /** the verdict in words */
  lines: string[];
  /** the folder with logs and data, if it was kept */
  dir: string | undefined;
}

const PROGRESS_MS = 10_000;
/**
 * A short run should end soon; a long run should show deliveries that wait through several faults.
 */
const windowOf = (forMs: number) => Math.min(120_000, Math.max(30_000, forMs));
const DRAIN_SLACK_MS = 180_000;
const TRACED = 3;

interface Scene {
  options: ChaosOptions;
  windowMs: number;
  dir: string;
  endpoints: Endpoints;
  system: System;
  env: Record<string, string>;
  view: KafkaView;
  brokers: BrokerControl;
  clocks: WrongClocks;
  startedAt: number;
  sourceId: string;
  writeKey: string;
  destinations: Record<Role, string>;
  note: (text: string) => void;
}

/** @param say receives each event as a line */
export async function runChaos(
  options: ChaosOptions,
  say: (line: string) => void,
): Promise<Outcome> {
  const undo: (() => Promise<unknown>)[] = [];
  const dir = mkdtempSync(join(tmpdir(), 'waypost-chaos-'));
  let keep = options.keep;
  try {
    const scene = await setScene({ options, dir, say, undo });
    const outcome = await conclude(scene, await play(scene));
    keep ||= outcome.violations.length > 0;
    if (keep) writeFileSync(join(dir, 'output.log'), scene.system.output());
    return { ...outcome, dir: keep ? dir : undefined };
  } catch (error) {
    keep = true;
    say(`what was found until it failed is in ${dir}`);
    throw error;
  } finally {
    for (const step of undo.reverse()) await step();
    if (!keep) rmSync(dir, { recursive: true, force: true });
  }
}

async function setScene(from: {
  options: ChaosOptions;
  dir: string;
  say: (line: string) => void;
  undo: (() => Promise<unknown>)[];
}): Promise<Scene> {
  const { options, dir, say, undo } = from;
  const startedAt = Date.now();
  const note = (text: string) =>
    say(`${((Date.now() - startedAt) / 1_000).toFixed(1).padStart(7)} s  ${text}`);
  const windowMs = windowOf(options.forMs);
  const endpoints = await openEndpoints(randomOf(options.seed + 1));
  undo.push(() => endpoints.close());
  let cluster: Cluster | undefined;
  if (options.brokers > 1) {
    cluster = await startCluster(join(dir, 'cluster'), options.brokers);
    undo.push(cluster.stop);
  }
  const clocks = new WrongClocks(join(dir, 'clocks'));
  const settings = {
    ...clocks.env,
    WAYPOST_RETRY_DELAYS: '1s,3s',
    WAYPOST_RETRY_WINDOW: `${windowMs}ms`,
    WAYPOST_TIMEOUT: '5s',
    WAYPOST_PARTITIONS: '6',
    WAYPOST_LOG_LEVEL: options.logLevel,
    ...defined({
      KAFKA_BROKERS: cluster ? cluster.brokers : undefined,
      WAYPOST_REPLICATION: cluster ? '3' : undefined,
    }),
  };
  // Never the broker of a test run, because a fault would affect all tests.
  const system = await startSystem({
    embedded: true,
    dataDir: join(dir, 'data'),
    env: settings,
    together: options.together,
  });
  undo.push(() => system.stop());
  const { env } = system;
  const view = await KafkaView.open(kafkaAddress(loadSettings(env)), '');
  undo.push(() => view.close());
  const connected = await connect(system, endpoints);
  const brokers = cluster ? clusterBrokers(cluster, view) : embeddedBroker(system);
  const made = { options, windowMs, dir, startedAt, endpoints, system, env, view, brokers, clocks };
  return { ...made, ...connected, note };
}

/** Creates a source, and a destination for each role; resolves when each has received a call. */
async function connect(system: System, endpoints: Endpoints) {
  const source = await system.createSource();
  const entries: [Role, string][] = [];
  for (const role of ROLES) {
    const { types } = PARTS[role];
    const webhooks = [{ url: endpoints.url(role) }];
    const { id } = await system.createDestination({
      name: role,
      sources: [source.id],
      webhooks,
      ...defined({ types }),
    });
    entries.push([role, id]);
  }
  // A call that is acknowledged before the router knows a destination does not go to it.
  const make = callMaker(randomOf(0));
  await eventually(
    async () => {
      const batch = Array.from({ length: 100 }, () => ({ ...make(), messageId: undefined }));
      await system.send(source.writeKey, 'batch', { batch });
      const missing = ROLES.filter((role) => !endpoints.met.has(role));
      if (missing.length > 0) throw new Error(`nothing came to ${missing.join(', ')}`);
    },
    { deadlineMs: 120_000, everyMs: 300 },
  );
  return {
    sourceId: source.id,
    writeKey: source.writeKey,
    destinations: Object.fromEntries(entries) as Record<Role, string>,
  };
}

interface Played {
  injector: Injector;
  /** ids of the messages that were answered with a 200 */
  acknowledged: Iterable<string>;
  cuts: Cuts;
}

async function play(scene: Scene): Promise<Played> {
  const { options, system, env, endpoints, brokers, clocks, note } = scene;
  const faults = planFaults({ ...options, longestOutageMs: scene.windowMs / 4 });
  const make = callMaker(randomOf(options.seed + 2));
  const load = startLoad({
    url: system.ingestUrl,
    writeKey: scene.writeKey,
    perSecond: options.perSecond,
    make,
  });
  const deletions = deleteUsers(system, endpoints.users, randomOf(options.seed + 3));
  const acknowledged = () => [...load.acknowledged, ...deletions.messages];
  const cuts: Cuts = { records: 0, before: new Set() };
  const onCut = (records: number) => {
    cuts.records += records;
    for (const message of acknowledged()) cuts.before.add(message);
  };
  const { destinations } = scene;
  const injector = new Injector({
    system,
    env,
    brokers,
    clocks,
    endpoints,
    destinations,
    onCut,
    note,
  });
  const startedAt = Date.now();
  const progress = setInterval(() => void tellProgress(scene, load, injector), PROGRESS_MS);
  try {
    for (const fault of faults) {
      await pause(Math.max(0, startedAt + fault.atMs - Date.now()));
      injector.start(fault);
    }
    await pause(Math.max(0, startedAt + options.forMs - Date.now()));
    note('no more faults');
    await injector.finish();
    await deletions.stop();
    await load.stop(30_000);
    note('no more calls');
    // Judge a run that does not drain like any other: the verdict names the open deliveries.
    await drained(scene).catch((error: unknown) => void injector.failures.push(messageOf(error)));
  } finally {
    clearInterval(progress);
    await deletions.stop();
    await load.stop(0);
  }
  return { injector, acknowledged: acknowledged(), cuts };
}

async function tellProgress(
  { view, endpoints, note }: Scene,
  load: Load,
  injector: Injector,
): Promise<void> {
  const delivered = ROLES.reduce((sum, role) => sum + endpoints.receipts[role].distinct, 0);
  const open = await view.open().then(
    (found) => String(found.open),
    () => 'unknown',
  );
  const refusals = [...load.refusals].map(([status, count]) => `${status}: ${count}`).join(', ');
  note(
    `${load.acknowledged.size} acknowledged (refused ${refusals || 'none'}), ${delivered} ` +
      'delivered, ' +
      `${open} records open, ${injector.performed} faults`,
  );
}

/** Resolves when no record is unread and none is written. */
async function drained({ view, windowMs }: Scene): Promise<void> {
  let writtenBefore = -1;
  await eventually(
    async () => {
      const { open, written } = await view.open();
      const quiet = open === 0 && written === writtenBefore;
      writtenBefore = written;
      if (!quiet) throw new Error(`${open} records are still open`);
    },
    { deadlineMs: windowMs + DRAIN_SLACK_MS, everyMs: 1_000 },
  );
}

async function conclude(
  scene: Scene,
  { injector, acknowledged, cuts }: Played,
): Promise<Omit<Outcome, 'dir'>> {
  const { system, env, dir, startedAt, sourceId, destinations, note } = scene;
  const { receipts } = scene.endpoints;
  note('reading what was written down');
  const { breaches, lastAsked } = scene.endpoints;
  const watched = new Set([
    ...ROLES.flatMap((role) => receipts[role].repeats.map(({ delivery }) => delivery)),
    ...breaches.map(({ delivery }) => delivery),
  ]);
  const { history, commits } = await readHistory(env, watched);
  const shown = await readShownHistory(
    system,
    destinations,
    startedAt,
    (found) => misshown({ destinations, history }, found).length === 0,
  );
  const { disturbances } = injector;
  const evidence: Evidence = {
    sourceId,
    destinations,
    acknowledged,
    cuts,
    receipts,
    history,
    commits,
    disturbances,
    breaches,
    lastAsked,
    shown,
  };
  const verdict = verifyRun(evidence);
  const violations = [...violationsOf(verdict), ...injector.failures];
  const suspects = [...Object.values(verdict.crimes), verdict.contradictions].flatMap((found) =>
    found.slice(0, TRACED),
  );
  if (suspects.length > 0) {
    const trace = await traceMessages(env, new Set(suspects.map(({ message }) => message)));
    writeFileSync(join(dir, 'trace.log'), `${trace.join('\n')}\n`);
  }
  if (violations.length > 0) {
    writeFileSync(join(dir, 'disturbances.json'), JSON.stringify(disturbances, null, 1));
  }
  return { verdict, violations, faults: injector.performed, lines: describeVerdict(verdict) };
}
