import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { type ServiceName } from '../../../bin/service-list';
import { MESSAGES, PROFILE_EVENTS } from '../../../shared/kafka/topics';
import { loadSettings } from '../../../shared/runtime/settings';
import { startServices, type SystemEnv } from '../../harness/services';
import { clockMs } from '../../harness/timing';
import { residents } from '../../harness/usage';
import { ratio } from '../arithmetic';
import { BEYOND, committedBy, drainBetween, drained, type DrainFigure, watched } from '../drain';
import { type Progress } from '../progress';
import { micros, most, PER_MESSAGE, type Row, rows } from '../rows';
import { messageRecord, openSeeder, type Seeder, SOURCE, sourceOf } from '../seed';
import { type Bench, withSystem } from '../setup';
import { callOfUser, definitionEntries } from '../shop';
import { diskBytes, metricOf } from './observe';

/**
 * Audiences of many users: the rate at which the service processes a backlog, beside the router
 * over the same messages; its memory and disk; and the time of a start without its store.
 */

export interface AudiencesSize {
  users: number;
  /** messages of each user */
  passes: number;
  warmUp: number;
  /** number of messages for the router, including its warm-up */
  router: number;
}

interface AudiencesFigure {
  users: number;
  router: DrainFigure;
  /** a message is half done when it has reached its user's partition */
  counting: DrainFigure;
  /** at the end of counting */
  residentMb: number;
  storeBytes: number;
  restoreSeconds: number;
}

export function audiencesRows(figure: AudiencesFigure): Row[] {
  const routed = micros(figure.router, 'router');
  const counted = micros(figure.counting, 'audiences');
  return rows('audiences', [
    [': users', 'users', figure.users],
    [', the router over the same messages', PER_MESSAGE, routed],
    [': counted', 'messages/s', figure.counting.perSecond],
    [': counted', PER_MESSAGE, counted],
    [': counted', '× router', ratio(counted, routed), most(3)],
    [': resident, with pages of its files', 'MB', figure.residentMb],
    [': store', 'MB', figure.storeBytes / 1024 ** 2],
    [': restored without its store', 's', figure.restoreSeconds],
  ]);
}

export function measureAudiences(
  bench: Bench,
  size: AudiencesSize,
  progress: Progress,
): Promise<AudiencesFigure> {
  return withSystem(bench, { name: 'audiences', services: [] }, async ({ system }) => {
    const seeder = await openSeeder(system.env);
    try {
      return await measure(bench, { system, seeder, size, progress });
    } finally {
      await seeder.close();
    }
  });
}

interface Rig {
  system: SystemEnv;
  seeder: Seeder;
  size: AudiencesSize;
  progress: Progress;
}

async function measure(bench: Bench, rig: Rig): Promise<AudiencesFigure> {
  const { system, seeder, size } = rig;
  const { kafka } = seeder;
  const total = size.users * size.passes;
  await seeder.write([{ kind: 'source', data: sourceOf(SOURCE) }]);
  await seeder.destinations([`${bench.endpoint.origin}/ok/`]);
  await seeder.append(messages(size));
  const drain = async (name: ServiceName, count: number, done: () => Promise<number>) => {
    const services = await startServices(system, [name]);
    const pids = { ...services.pids, broker: bench.broker.pid, bench: process.pid };
    try {
      await services.ready();
      const warm = await drained({ what: name, done, pids }, size.warmUp);
      const onCount = rig.progress.counting(name, count);
      const end = await drained({ what: name, done, pids }, count - BEYOND, onCount);
      return { figure: drainBetween(warm, end), residentMb: residents(pids)[name] ?? NaN };
    } finally {
      await services.stop();
    }
  };
  const router = await drain('router', Math.min(size.router, total), () =>
    committedBy(kafka, 'router', MESSAGES),
  );
  const history = (await kafka.ranges(MESSAGES)).sort((a, b) => a.partition - b.partition);
  await seeder.write(definitionEntries(history.map(({ high }) => high)));
  const counting = await drain('audiences', total, async () => {
    const moved = await committedBy(kafka, 'audiences', MESSAGES);
    return (moved + (await committedBy(kafka, 'audiences-profiles', PROFILE_EVENTS))) / 2;
  });
  const dataDir = loadSettings(system.env).WAYPOST_DATA_DIR;
  const store = join(dataDir, 'audiences', `${system.prefix}profiles`);
  const storeBytes = diskBytes(store);
  rmSync(store, { recursive: true });
  return {
    users: size.users,
    router: router.figure,
    counting: counting.figure,
    residentMb: counting.residentMb,
    storeBytes,
    restoreSeconds: await measureRestored(rig),
  };
}

function* messages({ users, passes }: AudiencesSize) {
  const nowMs = Date.now();
  for (let i = 0; i < users * passes; i++) yield messageRecord(callOfUser(i, users, nowMs));
}

/** Starts without the store, and waits until every profile is back. */
async function measureRestored({ system, size, progress }: Rig): Promise<number> {
  const startedAt = clockMs();
  const services = await startServices(system, ['audiences']);
  try {
    await services.ready();
    // A partition reports its profiles once it has them all.
    await watched({
      what: 'restoring',
      look: () => metricOf(system.healthPorts('audiences'), 'waypost_profiles'),
      until: (profiles) => profiles >= size.users,
      onCount: progress.counting('restoring', size.users),
    });
    return (clockMs() - startedAt) / 1_000;
  } finally {
    await services.stop();
  }
}
