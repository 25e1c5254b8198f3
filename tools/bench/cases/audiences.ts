import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type ServiceName } from '../../../bin/service-list';
import { MESSAGES, PROFILE_EVENTS } from '../../../shared/kafka/topics';
import { loadSettings } from '../../../shared/runtime/settings';
import { type RunningServices, startServices, type SystemEnv } from '../../harness/services';
import { cpuBetween, type CpuUse, type Memory, MemoryWatch, readCpu } from '../../harness/usage';
import {
  BEYOND,
  committedBy,
  type Drain,
  drainBetween,
  drained,
  type DrainFigure,
  watched,
} from '../drain';
import { type Progress } from '../progress';
import { ratio } from '../arithmetic';
import { micros, most, PER_MESSAGE, type Row, rows } from '../rows';
import { messageRecord, openSeeder, type Seeder, SOURCE, sourceOf } from '../seed';
import { type Bench, withSystem } from '../setup';
import { callOfUser, definitionEntries, DEFINITIONS } from '../shop';
import { DefinitionStatus, diskBytes, metricOf } from './audiences-state';

/**
 * Audiences of many users: the rate at which the service processes a backlog, beside the router
 * over the same messages; its memory and disk; the duration of the first sync, and of a start
 * without its store.
 */

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

interface AudiencesFigure {
  users: number;
  /** the router over the same messages */
  router: DrainFigure;
  /** the service over them; a message is half done when it has reached its user's partition */
  counting: DrainFigure;
  firstSync: { seconds: number; count: number; cpu: CpuUse };
  /** after the store was deleted */
  restore: { seconds: number };
  /** messages of known users, while syncs run */
  traffic: DrainFigure;
  idleCores: number;
  /** the maximum of each phase */
  memory: Record<'counting' | 'firstSync' | 'restore' | 'traffic', Memory>;
  storeBytes: number;
}

const MB = 1024 * 1024;

export function audiencesRows(figure: AudiencesFigure): Row[] {
  const { router, counting, firstSync, restore, traffic, memory } = figure;
  const counted = micros(counting, 'audiences');
  return rows('audiences', [
    [': users', 'users', figure.users],
    [', the router over the same messages', PER_MESSAGE, micros(router, 'router')],
    [': counted', 'messages/s', counting.perSecond],
    [': counted', PER_MESSAGE, counted],
    [': counted', '× router', ratio(counted, micros(router, 'router')), most(3)],
    [': counted, broker', PER_MESSAGE, micros(counting, 'broker')],
    [': first sync', 's', firstSync.seconds],
    [': first sync', 'CPU-µs/call', micros(firstSync, 'audiences')],
    [': restored without its store', 's', restore.seconds],
    [': new messages, syncs running', 'messages/s', traffic.perSecond],
    [': new messages, syncs running', PER_MESSAGE, micros(traffic, 'audiences')],
    [': idle', 'cores', figure.idleCores],
    ...Object.entries(memory).flatMap(([phase, { ownMb, rssMb }]) => [
      [`, ${phase}: process memory, peak`, 'MB', ownMb] as const,
      [`, ${phase}: resident, including files`, 'MB', rssMb] as const,
    ]),
    [': store', 'MB', figure.storeBytes / MB],
  ]);
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
  const warm = await drained(drain, size.warmUp);
  const end = await drained(drain, total - BEYOND, tell);
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
    counting: drainBetween(warm, end),
    firstSync: { seconds: cpu.seconds, count: status.told, cpu },
    memory: { counting: counted, firstSync: memory.next() },
    storeBytes: diskBytes(storePath(rig)),
  };
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
  const { system, size, progress, seeder } = rig;
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
  const restore = { seconds: cpuBetween(begun, readCpu(pids)).seconds };
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
