import { constants, setPriority } from 'node:os';
import { processNames } from '../../../bin/service-list';
import { isInstalled } from '../../../test/support/installed-tool';
import { PYTHON_OPENSSL, startTlsPeer, type TlsPeer } from '../../../test/support/tls-peer';
import { OF_ALL, OF_DESTINATION } from '../../../services/delivery/http/response-budget';
import { laneOptions } from '../../../services/delivery/tuning';
import { loadSettings } from '../../../shared/runtime/settings';
import { apiOf } from '../../harness/api';
import { BATCHED, HOSTILE } from '../../harness/receiver';
import { type SystemEnv } from '../../harness/services';
import { createCustomers, type Customer } from '../load';
import { type Progress } from '../progress';
import { median, sum } from '../arithmetic';
import { type Row, rows } from '../rows';
import { type Bench, withSystem } from '../setup';
import { type Hostile, type IsolationPhase, measurePhase, type PhaseSize } from './isolation-phase';
import { type LoopSize, measurePipeline, type Target } from './pipeline';

/**
 * The cost of hanging endpoints for the others. Every phase offers the same calls to the same
 * endpoints, in an open loop at a share of the capacity measured just before. The phases differ in
 * the number of hanging endpoints. Only endpoints that hang in no phase are measured, so that the
 * clean phases and the others are otherwise alike. A clean phase precedes and follows each of the
 * others, because a machine's p99 changes from one minute to the next, and a system's p99 changes
 * with its age.
 */

const CLEAN: { hanging: number; as?: Hostile } = { hanging: 0 };
/** Python sends them as fast as it can in each handshake. */
const TICKETS = 100_000;
/**
 * Records in tiers return after a phase, which is an outage of a minute: with these tiers, within
 * another minute.
 */
const SETTLE_MS = 65_000;

export interface IsolationSize {
  endpoints: number;
  /** the number of hanging endpoints in each phase; with a clean phase before and after each */
  hanging: number[];
  /** of the hanging ones, how many are hostile in a phase for each way to be so */
  hostile: number;
  /** of each phase */
  seconds: number;
  /**
   * before the first phase and unmeasured, with separate endpoints, as many of them hanging as in
   * the worst phase: V8 and the broker's JVM compile this code at its first use, and an hour later
   * that is not a cost for others
   */
  warmUpSeconds: number;
  /**
   * of the capacity. At full speed calls share requests, so that 60 % of that rate keeps 85 % of
   * the cores busy: there each percent more is a wait for everybody, and the figure is the
   * machine's.
   */
  loadPercent: number;
  /** all services run in one process */
  together?: boolean;
  /** the measurement of capacity; or calls a second, if it is given */
  capacity: LoopSize | number;
}

interface IsolationFigure {
  endpoints: number;
  /** number of endpoints that hang in no phase, and are measured */
  measured: number;
  /** calls a second */
  capacity: number;
  /** to all endpoints together */
  offeredPerSecond: number;
  /** maximum of open connections of one lane */
  laneLimit: number;
  /** the first one is clean */
  phases: IsolationPhase[];
}

/** The allowed cost of sick endpoints for the others, as a multiple of the clean p99. */
export const ISOLATION_GOAL = 1.2;

export function isolationRows(figure: IsolationFigure): Row[] {
  const { phases, endpoints, laneLimit, capacity, offeredPerSecond } = figure;
  const cleanPhases = phases.filter(isClean);
  const clean = (of: (phase: IsolationPhase) => number) => median(cleanPhases.map(of));
  const beside = (phase: IsolationPhase, at: number) => {
    const around = neighbours(phases, at).map(({ p99Ms }) => p99Ms);
    return [
      'healthy p99',
      '× clean around it',
      phase.p99Ms / median(around),
      ISOLATION_GOAL,
    ] as const;
  };
  return [
    ...rows('isolation: ', [
      ['capacity, single calls', 'calls/s', capacity],
      ['offered in every phase', 'calls/s', offeredPerSecond],
    ]),
    ...rows('isolation, clean: ', [
      ['healthy p50', 'ms', clean(({ p50Ms }) => p50Ms)],
      ['healthy p99', 'ms', clean(({ p99Ms }) => p99Ms)],
      ['healthy, longest', 'ms', clean(({ maxMs }) => maxMs)],
      [BUSY, '', clean(busyCores)],
    ]),
    ...phases.flatMap((phase, at) => {
      if (isClean(phase)) return [];
      const { as, hanging, disk } = phase;
      if (as !== undefined) {
        return rows(`isolation, some endpoints (${as}): `, [
          beside(phase, at),
          [BUSY, '', busyCores(phase)],
          [
            "Kafka's disk beyond clean",
            '× its budget',
            diskShare(phase, neighbours(phases, at)),
            STORED.has(as) ? 1 : undefined,
          ],
        ]);
      }
      return rows(`isolation, ${String((100 * hanging) / endpoints)} % hang: `, [
        ['healthy p50', 'ms', phase.p50Ms],
        ['healthy p99', 'ms', phase.p99Ms],
        ['healthy, longest', 'ms', phase.maxMs],
        [
          'healthy delivered',
          '% of offered',
          (100 * phase.deliveredPerSecond) / phase.offeredPerSecond,
        ],
        beside(phase, at),
        [BUSY, '', busyCores(phase)],
        ["Kafka's disk", 'MB', (disk?.bytes ?? NaN) / BYTES_PER_MB],
        ['most connections to a hung endpoint', '', phase.mostConnections, laneLimit],
      ]);
    }),
  ];
}

const BUSY = 'busy cores, with the load and the endpoints';

function busyCores({ cpu: { byName, foreignCores, seconds } }: IsolationPhase): number {
  return sum(Object.values(byName)) / seconds + (foreignCores ?? 0);
}

const isClean = ({ hanging }: IsolationPhase) => hanging === 0;

/** Returns the clean phases before and after one. */
function neighbours(phases: readonly IsolationPhase[], at: number): IsolationPhase[] {
  return [phases[at - 1], phases[at + 1]].flatMap((phase) =>
    phase && isClean(phase) ? [phase] : [],
  );
}

const BYTES_PER_MB = 1024 * 1024;
/** Endpoints whose responses are stored at length. The others send nothing that is kept. */
const STORED: ReadonlySet<Hostile> = new Set(['controls', 'batched', 'named']);
/** Of one more attempt, without its response: its event, and the record that waits for the next. */
const ATTEMPT_BYTES = 4 * 1024;

/**
 * Returns what a phase wrote to Kafka's disk beyond the clean phases around it, as a share of what
 * its responses and repeated attempts may take; undefined if the disk was not measured.
 */
function diskShare(phase: IsolationPhase, around: IsolationPhase[]): number | undefined {
  const disks = around.flatMap(({ disk }) => disk ?? []);
  if (!phase.disk || disks.length === 0) return undefined;
  const { bytes, webhooks, seconds } = phase.disk;
  const allowed = ({ burst, perSecond }: typeof OF_ALL) => burst + perSecond * seconds;
  const responses = Math.min(phase.hanging * allowed(OF_DESTINATION), allowed(OF_ALL));
  const repeats = Math.max(0, webhooks - median(disks.map((disk) => disk.webhooks)));
  const beyond = bytes - median(disks.map((disk) => disk.bytes));
  return beyond / (responses + repeats * ATTEMPT_BYTES);
}

export function measureIsolation(
  bench: Bench,
  size: IsolationSize,
  progress: Progress,
): Promise<IsolationFigure> {
  const processes = processNames(size.together);
  return withSystem(bench, { name: 'isolation', services: processes }, async ({ system, pids }) => {
    const { endpoints, seconds } = size;
    const most = Math.max(...size.hanging);
    // The endpoints that hang during the warm-up come first and are in no phase: the lanes of the
    // others have no past.
    const all = await bench.endpoint.origins(most + endpoints);
    progress.note(
      `a source and a destination for each of ${String(endpoints)} endpoints, and ` +
        `${String(most)} more`,
    );
    const urls = all.map((origin) => `${origin}/ok/`);
    const everyone: Target = {
      prefix: system.prefix,
      ingestUrl: system.ingestUrl,
      customers: await createCustomers(system, urls),
      pids,
    };
    const origins = all.slice(most);
    const target: Target = { ...everyone, customers: everyone.customers.slice(most) };
    progress.note('capacity');
    const capacity =
      typeof size.capacity === 'number'
        ? size.capacity
        : (await measurePipeline(bench, target, size.capacity)).perSecond;
    const perSecond = (capacity * size.loadPercent) / 100;
    const measured = endpoints - most;
    const phases: IsolationPhase[] = [];
    const warmUp = {
      name: 'warm-up',
      origins: all,
      hanging: most,
      measured,
      perSecond,
      seconds: size.warmUpSeconds,
    };
    await progress.during('warm-up', 1000 * size.warmUpSeconds + SETTLE_MS, () =>
      measurePhase(bench, everyone, warmUp),
    );
    const troubles: { hanging: number; as?: Hostile }[] = [
      ...size.hanging.map((hanging) => ({ hanging })),
      ...HOSTILE.map((as) => ({ hanging: size.hostile, as })),
    ];
    let peer: TlsPeer | undefined;
    if (isInstalled(PYTHON_OPENSSL)) {
      peer = await startTlsPeer({ tickets: TICKETS });
      // Making a ticket costs the server more than reading one costs Waypost, and a real one has
      // cores of its own: here it gets what the others leave.
      setPriority(peer.pid, constants.priority.PRIORITY_LOW);
      troubles.push({ hanging: size.hostile, as: 'tickets' });
    } else {
      progress.note(`without session tickets: ${PYTHON_OPENSSL.name} is not installed here`);
    }
    for (const [i, { hanging, as }] of [
      CLEAN,
      ...troubles.flatMap((each) => [each, CLEAN]),
    ].entries()) {
      const how = as ?? 'hang';
      const what =
        `${String(hanging)} of ${String(endpoints)}: ${how}, ` +
        `${String(Math.round(perSecond))} calls/s`;
      const name = `phase-${String(i)}`;
      const phase: PhaseSize = { name, origins, hanging, measured, perSecond, seconds };
      if (as) phase.as = as;
      const hung = target.customers.slice(0, hanging);
      if (BATCHED.has(as)) await patchEach(system, hung, () => ({ batch: {} }));
      if (as === 'tickets' && peer) {
        const { origin, certificate } = peer;
        const webhooks = [{ url: `${origin}/ok/`, tls: { ca: certificate.cert } }];
        phase.prepare = () => patchEach(system, hung, () => ({ webhooks }));
        phase.restore = () =>
          patchEach(system, hung, (at) => ({ webhooks: [{ url: `${String(origins[at])}/ok/` }] }));
      }
      const expectedMs = seconds * 1000 + (hanging > 0 ? SETTLE_MS : 0);
      phases.push(
        await progress.during(what, expectedMs, () => measurePhase(bench, target, phase)),
      );
      if (BATCHED.has(as)) await patchEach(system, hung, () => ({ batch: null }));
    }
    peer?.close();
    const { ceiling } = laneOptions(loadSettings(system.env).WAYPOST_RETRY_DELAYS);
    return {
      endpoints,
      measured,
      capacity,
      offeredPerSecond: perSecond,
      laneLimit: ceiling,
      phases,
    };
  });
}

/** @param patchOf of the destination of each of these customers, by its place among them */
async function patchEach(
  system: SystemEnv,
  customers: readonly Customer[],
  patchOf: (at: number) => object,
): Promise<void> {
  const api = apiOf(system);
  for (const [at, { destinationId }] of customers.entries()) {
    const answer = await api.control('PATCH', `/destinations/${destinationId}`, patchOf(at));
    if (answer.status !== 200) {
      throw new Error(`the destination was not changed: ${JSON.stringify(answer.body)}`);
    }
  }
}
