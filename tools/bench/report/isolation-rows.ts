import { OF_ALL, OF_DESTINATION } from '../../../services/delivery/http/response-budget';
import { HOSTILE, type Hostile } from '../../harness/receiver';
import { median, spread } from '../arithmetic';
import { first, type Goal, isolationGoal, most, type Row, rows } from './columns';
import { type IsolationPhase, type Round } from './figures';

/** The rows for hanging endpoints. Pure. */

export function isolationRows(rounds: readonly Round[]): Row[] {
  const figure = first(rounds, (round) => round.isolation);
  if (!figure) return [];
  const clean = spread(
    rounds.map((round) => round.isolation && ofPhases(round.isolation.phases, 0, p99Of)),
  );
  const overall = rows('isolation: ', (round) => round.isolation, [
    ['capacity, single calls', 'calls/s', ({ capacity }) => capacity],
    ['offered in every phase', 'calls/s', ({ offeredPerSecond }) => offeredPerSecond],
  ]);
  const phases = hangings(figure.phases).flatMap((hanging) => {
    const title = `isolation, ${shareOf(hanging, figure.endpoints)}: `;
    const of = (round: Round) => round.isolation?.phases;
    const column = (
      name: string,
      unit: string,
      value: (phase: IsolationPhase) => number,
      goal?: Goal,
    ) =>
      [
        name,
        unit,
        (all: readonly IsolationPhase[]) => ofPhases(all, hanging, value),
        goal,
      ] as const;
    const common = rows(title, of, [
      column('healthy p50', 'ms', ({ p50Ms }) => p50Ms),
      column('healthy p99', 'ms', p99Of),
      column('healthy, longest', 'ms', ({ maxMs }) => maxMs),
      column(
        'healthy delivered',
        '% of offered',
        (p) => (100 * p.deliveredPerSecond) / p.offeredPerSecond,
      ),
    ]);
    if (hanging === 0) return common;
    const beside = rows(title, of, [
      [
        'healthy p99',
        '× clean around it',
        (all) => besideClean(all, (phase) => phase.hanging === hanging && phase.as === undefined),
        clean && isolationGoal(clean.median),
      ],
      column("Kafka's disk", 'MB', ({ disk }) => (disk?.bytes ?? NaN) / BYTES_PER_MB),
      column(
        'most connections to a hung endpoint',
        '',
        (p) => p.mostConnections,
        most(figure.laneLimit),
      ),
    ]);
    return [...common, ...beside];
  });
  const tried = HOSTILE.filter((as) => figure.phases.some((phase) => phase.as === as));
  const hostile = tried.flatMap((as) =>
    rows(`isolation, some endpoints (${as}): `, (round) => round.isolation?.phases, [
      [
        'healthy p99',
        '× clean around it',
        (all) => besideClean(all, (phase) => phase.as === as),
        clean && isolationGoal(clean.median),
      ],
      [
        "Kafka's disk beyond clean",
        '× its budget',
        (all) => diskShare(all, (phase) => phase.as === as),
        STORED.has(as) ? most(1) : undefined,
      ],
    ]),
  );
  return [...overall, ...phases, ...hostile];
}

/** Lists the numbers of hanging endpoints, each once, the clean phases' first. */
export function hangings(phases: readonly IsolationPhase[]): number[] {
  return [...new Set(phases.filter(({ as }) => as === undefined).map(({ hanging }) => hanging))];
}

/** Returns `clean`, or the share of the endpoints that hung. */
export function shareOf(hanging: number, endpoints: number): string {
  return hanging === 0 ? 'clean' : `${String((100 * hanging) / endpoints)} % hang`;
}

/**
 * Returns the figure of the phases with this number of hanging endpoints: the median of several.
 */
export function ofPhases(
  phases: readonly IsolationPhase[],
  hanging: number,
  of: (phase: IsolationPhase) => number,
): number {
  return median(
    phases.filter((phase) => phase.hanging === hanging && phase.as === undefined).map(of),
  );
}

const BYTES_PER_MB = 1024 * 1024;
/** Endpoints whose responses are stored at length. The others send nothing that is kept. */
const STORED: ReadonlySet<Hostile> = new Set(['controls', 'batched']);
/** Of one more attempt, without its response: its event, and the record that waits for the next. */
const ATTEMPT_BYTES = 4 * 1024;

/**
 * Returns what a phase wrote to Kafka's disk beyond the clean phases around it, as a share of what
 * its responses and repeated attempts may take; undefined if the disk was not measured.
 */
function diskShare(
  phases: readonly IsolationPhase[],
  isWanted: (phase: IsolationPhase) => boolean,
): number | undefined {
  const at = phases.findIndex(isWanted);
  const wanted = phases[at];
  const around = [phases[at - 1]?.disk, phases[at + 1]?.disk].flatMap((disk) => disk ?? []);
  if (!wanted?.disk || around.length === 0) return undefined;
  const { bytes, webhooks, seconds } = wanted.disk;
  const clean = {
    bytes: median(around.map((disk) => disk.bytes)),
    webhooks: median(around.map((disk) => disk.webhooks)),
  };
  const allowed = ({ burst, perSecond }: typeof OF_ALL) => burst + perSecond * seconds;
  const responses = Math.min(wanted.hanging * allowed(OF_DESTINATION), allowed(OF_ALL));
  const repeats = Math.max(0, webhooks - clean.webhooks) * ATTEMPT_BYTES;
  return (bytes - clean.bytes) / (responses + repeats);
}

const p99Of = ({ p99Ms }: { p99Ms: number }) => p99Ms;

const isClean = ({ hanging }: IsolationPhase) => hanging === 0;

/** Returns the p99 of the wanted phase as a multiple of the clean phases' before and after it. */
function besideClean(
  phases: readonly IsolationPhase[],
  isWanted: (phase: IsolationPhase) => boolean,
): number {
  const at = phases.findIndex(isWanted);
  const around = [phases[at - 1], phases[at + 1]].flatMap((phase) =>
    phase && isClean(phase) ? [phase.p99Ms] : [],
  );
  return (phases[at]?.p99Ms ?? NaN) / median(around);
}
