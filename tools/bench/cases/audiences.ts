import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type ServiceName } from '../../../bin/service-list';
import { MESSAGES, PROFILE_EVENTS, PROFILES } from '../../../shared/kafka/topics';
import { loadSettings } from '../../../shared/runtime/settings';
import { type RunningServices, startServices, type SystemEnv } from '../../harness/services';
import { cpuBetween, MemoryWatch, readCpu } from '../../harness/usage';
import {
  BEYOND,
  committedBy,
  type Drain,
  drainBetween,
  drained,
  type DrainFigure,
  type Mark,
  watched,
} from '../drain';
import { type Progress } from '../progress';
import { type AudiencesFigure } from '../report/figures';
import { messageRecord, openSeeder, type Seeder, SOURCE, sourceOf } from '../seed';
import { type Bench, withSystem } from '../setup';
import { callOfUser, definitionEntries, DEFINITIONS } from '../shop';
import { DefinitionStatus, diskBytes, metricOf } from './audiences-state';

/**
 * Audiences of many users: the rate at which the service processes a backlog, beside the router
 * over the same messages; its memory and disk; the duration of the first sync, and of a start
 * without its store.
 */

const PARTS = 5;

export interface AudiencesSize {
  users: number;
  /** messages of each user */
  passes: number;
  warmUp: number;
  /** number of messages for the router, including its warm-up */
  router: number;
  /** messages after the first sync */
  traffic: number;
  idleSeconds: number;
}

interface Rig {
  bench: Bench;
  system: SystemEnv;
  seeder: Seeder;
  size: AudiencesSize;
  progress: Progress;
  status: DefinitionStatus;
}

export function measureAudiences(
  bench: Bench,
  size: AudiencesSize,
  progress: Progress,
): Promise<AudiencesFigure> {
  return withSystem(bench, { name: 'audiences', services: [] }, async ({ system }) => {
    const seeder = await openSeeder(system.env);
    const partitions = loadSettings(system.env).WAYPOST_PARTITIONS;
    const expected = partitions * (DEFINITIONS.audiences + DEFINITIONS.traits);
    const status = await DefinitionStatus.watch(seeder.kafka, expected);
    try {
      return await measure({ bench, system, seeder, size, progress, status });
    } finally {
      await status.stop();
      await seeder.close();
    }
  });
}

async function measure(rig: Rig): Promise<AudiencesFigure> {
  const { seeder, size, bench } = rig;
  await seeder.write([{ kind: 'source', data: sourceOf(SOURCE) }]);
  await seeder.destinations([`${bench.endpoint.origin}/ok/`]);
  await write(rig, { from: 0, count: size.users * size.passes });
  const router = await alone(rig, 'router', (pids) => measureRouter(rig, pids));
  const history = (await seeder.kafka.ranges(MESSAGES)).sort((a, b) => a.partition - b.partition);
  await seeder.write(definitionEntries(history.map(({ high }) => high)));
  const begun = await alone(rig, 'audiences', (pids, memory) =>
    measureBeginning(rig, pids, memory),
  );
  rmSync(storePath(rig), { recursive: true });
  const restored = await alone(rig, 'audiences', (pids, memory) =>
    measureRestored(rig, begun.storeBytes, pids, memory),
  );
  return {
    users: size.users,
    definitions: DEFINITIONS,
    router,
    ...begun,
    ...restored,
    memory: { ...begun.memory, ...restored.memory },
  };
}

/** Writes calls of users to `messages`. */
async function write(
  { seeder, size, progress }: Rig,
  { from, count }: { from: number; count: number },
): Promise<void> {
  const tell = progress.counting('writing messages', count);
  function* records() {
    const nowMs = Date.now();
    for (let i = 0; i < count; i++) {
      tell(i);
      yield messageRecord(callOfUser(from + i, size.users, nowMs));
    }
  }
  await seeder.append(records());
}

type Pids = Record<string, number>;

/** Runs one service, from its start to its end. */
async function alone<T>(
  { system, bench, progress }: Rig,
  name: ServiceName,
  use: (pids: Pids, memory: MemoryWatch) => Promise<T>,
): Promise<T> {
  progress.note(`starting ${name}`);
  let services: RunningServices | undefined;
  let memory: MemoryWatch | undefined;
  try {
    services = await startServices(system, [name]);
    memory = new MemoryWatch(services.pids[name] ?? 0);
    await services.ready();
    return await use({ ...services.pids, broker: bench.broker.pid, bench: process.pid }, memory);
  } finally {
    memory?.stop();
    await services?.stop();
  }
}

async function measureRouter({ seeder, size, progress }: Rig, pids: Pids): Promise<DrainFigure> {
  const drain = { what: 'router', done: () => committedBy(seeder.kafka, 'router', MESSAGES), pids };
  const count = Math.min(size.router, size.users * size.passes) - BEYOND;
  const tell = progress.counting('router', count);
  const warm = await drained(drain, size.warmUp);
  return drainBetween(warm, await drained(drain, count, tell));
}

/** Measures until every message is counted and the first syncs have emitted every user. */
async function measureBeginning(rig: Rig, pids: Pids, memory: MemoryWatch) {
  const { size, progress, status } = rig;
  const total = size.users * size.passes;
  const tell = progress.counting('counting', total);
  const drain = countingOf(rig, pids);
  const marks = [await drained(drain, size.warmUp)];
  for (let part = 1; part <= PARTS; part++) {
    const count = size.warmUp + Math.floor(((total - BEYOND - size.warmUp) * part) / PARTS);
    marks.push(await drained(drain, count, tell));
  }
  const counted = memory.next();
  const begun = readCpu(pids);
  const first = progress.counting('first sync', size.users);
  await watched({
    what: 'the first sync',
    look: () => status.counted,
    until: () => status.live,
    onCount: first,
  });
  const cpu = cpuBetween(begun, readCpu(pids));
  return {
    counting: between(marks, 0, PARTS),
    fifths: Array.from({ length: PARTS }, (_, i) => between(marks, i, i + 1).perSecond),
    firstSync: { seconds: cpu.seconds, told: status.told, cpu },
    memory: { counting: counted, firstSync: memory.next() },
    ...disk(rig),
  };
}

function between(marks: readonly Mark[], from: number, to: number): DrainFigure {
  const [first, last] = [marks[from], marks[to]];
  if (!first || !last) throw new Error('there is no such mark');
  return drainBetween(first, last);
}

/**
 * A message goes to its user's partition and is counted there. Each of the two steps is half of the
 * work.
 */
function countingOf({ seeder: { kafka } }: Rig, pids: Pids): Drain {
  const done = async () => {
    const given = await committedBy(kafka, 'audiences', MESSAGES);
    return (given + (await committedBy(kafka, 'audiences-profiles', PROFILE_EVENTS))) / 2;
  };
  return { what: 'audiences', done, pids };
}

/** Deletes the store, waits until it is restored, then measures new messages while syncs run. */
async function measureRestored(rig: Rig, storeBytes: number, pids: Pids, memory: MemoryWatch) {
  const { bench, system, size, progress, seeder } = rig;
  const begun = readCpu(pids);
  const profiles = () => metricOf(system.healthPorts('audiences'), 'waypost_profiles');
  // A partition reports its profiles once it has them all; until then its file grows.
  const onCount = progress.counting('restoring: bytes of the store', storeBytes);
  const look = () => (existsSync(storePath(rig)) ? diskBytes(storePath(rig)) : 0);
  await watched({
    what: 'restoring',
    look,
    until: async () => (await profiles()) >= size.users,
    onCount,
  });
  const cpu = cpuBetween(begun, readCpu(pids));
  const restore = {
    seconds: cpu.seconds,
    records: await bench.broker.records(system.prefix + PROFILES),
    cpu,
  };
  const restoreMemory = memory.next();
  const done = () => committedBy(seeder.kafka, 'audiences-profiles', PROFILE_EVENTS);
  const events = { what: 'new messages', done, pids };
  const before = size.users * size.passes;
  const from = await drained(events, before);
  await write(rig, { from: before, count: size.traffic });
  const said = progress.counting('new messages', size.traffic);
  const to = await drained(events, before + size.traffic, (count) => said(count - before));
  const trafficMemory = memory.next();
  return {
    restore,
    traffic: drainBetween(from, to),
    idleCores: await measureIdle(rig, pids),
    memory: { restore: restoreMemory, traffic: trafficMemory },
  };
}

/** Measures after the next sync, which checks every user with new messages. */
async function measureIdle({ size, progress, status }: Rig, pids: Pids): Promise<number> {
  let told = -1;
  const still = async () => {
    const before = told;
    told = status.told;
    await pause(STILL_MS);
    return told === before && told === status.told;
  };
  progress.note('waiting for the next sync to end');
  await pause(SYNC_WITHIN_MS);
  while (!(await still()));
  const from = readCpu(pids);
  await progress.during('idle', size.idleSeconds * 1000, () => pause(size.idleSeconds * 1000));
  const { byName, seconds } = cpuBetween(from, readCpu(pids));
  return (byName.audiences ?? NaN) / seconds;
}

const STILL_MS = 3_000;
/** Definitions are synced every minute. */
const SYNC_WITHIN_MS = 60_000;

function storePath({ system }: Rig): string {
  return join(loadSettings(system.env).WAYPOST_DATA_DIR, 'audiences', `${system.prefix}profiles`);
}

function disk(rig: Rig): Pick<AudiencesFigure, 'storeBytes' | 'changelogBytes'> {
  const { bench, system } = rig;
  const { folder } = bench.broker;
  const changelogBytes =
    folder === undefined ? undefined : diskBytes(folder, partitionsOf(system.prefix + PROFILES));
  return { storeBytes: diskBytes(storePath(rig)), changelogBytes };
}

/** Selects the folders of a topic's partitions among a broker's folders. */
function partitionsOf(topic: string): (name: string) => boolean {
  return (name) => name.startsWith(`${topic}-`) && /^\d+$/.test(name.slice(topic.length + 1));
}
