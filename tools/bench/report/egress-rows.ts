import { SERVICES } from '../../../deploy/standalone/service-list';
import { compact } from '../../../shared/collections/defined';
import { median, ratio, spread, sum } from '../arithmetic';
import { type Column, first, isolationGoal, micros, type Row, rows } from './columns';
import {
  type BatchedFigure,
  type Protocol,
  type ProtocolFigure,
  type ProxyPhase,
  type Round,
} from './figures';
import { besideClean } from './isolation-rows';

/** The rows for the way to endpoints: protocols, batches of events, and proxies. Pure. */

const EVERYTHING = [...SERVICES, 'broker'];
const PER_REQUEST = 'CPU-µs/request';
const PER_EVENT = 'CPU-µs/event';

export function http2Rows(rounds: readonly Round[]): Row[] {
  const figure = first(rounds, ({ http2 }) => http2);
  if (!figure) return [];
  const cases = figure.cases.flatMap(({ streams, protocol }, i) => {
    const of = (round: Round) => round.http2?.cases[i];
    const plain = ({ http2 }: Round) => http2?.cases.find((each) => each.streams === streams);
    return rows(
      `endpoint of ${String(figure.delayMs)} ms, ${String(streams)} at once, ${protocol}`,
      of,
      [
        ...costColumns(plain, protocol),
        [': p50', 'ms', ({ p50Ms }) => p50Ms],
        [': p99', 'ms', ({ p99Ms }) => p99Ms],
        [': sockets', '', ({ sockets }) => sockets],
      ],
    );
  });
  const openings = figure.openings.flatMap(({ protocol }, i) =>
    rows(
      `new TLS connection and one request, ${protocol}`,
      ({ http2 }) => http2?.openings[i],
      costColumns(({ http2 }) => http2?.openings[0], protocol),
    ),
  );
  return [...cases, ...openings];
}

/** Returns the columns of the cost, and of its ratio to HTTP/1.1 in the same round. */
function costColumns(
  plain: (round: Round) => ProtocolFigure | undefined,
  protocol: Protocol,
): Column<ProtocolFigure>[] {
  const besidePlain: Column<ProtocolFigure> = [
    '',
    '× HTTP/1.1',
    ({ microsEach }, round) => ratio(microsEach, plain(round)?.microsEach),
  ];
  return compact([
    ['', PER_REQUEST, ({ microsEach }) => microsEach],
    protocol === 'HTTP/1.1' ? undefined : besidePlain,
  ]);
}

const KINDS = ['single', 'batched'] as const;

export function batchedRows(rounds: readonly Round[]): Row[] {
  const maxEvents = first(rounds, ({ batched }) => batched)?.maxEvents;
  if (maxEvents === undefined) return [];
  const scopes: [title: string, of: 'delivery' | 'all', names: string[]][] = [
    ['delivery alone', 'delivery', ['delivery']],
    ['delivery alone with the broker', 'delivery', ['delivery', 'broker']],
    ['all services', 'all', [...SERVICES]],
    ['all services with the broker', 'all', EVERYTHING],
    ['delivery among all services', 'all', ['delivery']],
  ];
  const costs = scopes.flatMap(([title, of, names]) =>
    KINDS.flatMap((kind) => {
      const cost = (figure: BatchedFigure, which: (typeof KINDS)[number]) =>
        micros(figure[of][which], ...names);
      const columns: Column<BatchedFigure>[] = [['', PER_EVENT, (figure) => cost(figure, kind)]];
      if (kind === 'batched') {
        columns.push(['', '× single POSTs', (f) => ratio(cost(f, kind), cost(f, 'single'))]);
      }
      return rows(`${title}, ${nameOf(kind, maxEvents)}`, ({ batched }) => batched, columns);
    }),
  );
  const sizes = rows(`${nameOf('batched', maxEvents)}: `, ({ batched }) => batched, [
    ['delivery alone', 'events/POST', (f) => f.delivery.batched.eventsPerPost],
    ['all services', 'events/POST', (f) => f.all.batched.eventsPerPost],
  ]);
  return [...costs, ...sizes];
}

function nameOf(kind: (typeof KINDS)[number], maxEvents: number): string {
  return kind === 'single' ? 'single POSTs' : `batches of up to ${String(maxEvents)} events`;
}

export function proxyRows(rounds: readonly Round[]): Row[] {
  const figure = first(rounds, ({ proxies }) => proxies);
  if (!figure) return [];
  const phasesOf = ({ proxies }: Round) => proxies?.phases;
  const clean = spread(
    rounds.map((round) => phasesOf(round) && ofMood(phasesOf(round) ?? [], 'works', p99Of)),
  );
  const moods = [...new Set(figure.phases.map(({ mood }) => mood))];
  return moods.flatMap((mood) => {
    const of = (value: (phase: ProxyPhase) => number) => (phases: readonly ProxyPhase[]) =>
      ofMood(phases, mood, value);
    const columns: Column<readonly ProxyPhase[]>[] = [
      [': p50', 'ms', of(({ p50Ms }) => p50Ms)],
      [': p99', 'ms', of(p99Of)],
      [': longest', 'ms', of(({ maxMs }) => maxMs)],
      [': delivered', '% of offered', of((p) => (100 * p.deliveredPerSecond) / p.offeredPerSecond)],
      [': services and broker', 'cores', of(coresOf)],
    ];
    const goal = clean && isolationGoal(clean.median);
    if (mood !== 'works') {
      columns.push([
        ': p99',
        '× clean around it',
        (all) => besideClean(all, is(mood), is('works')),
        goal,
      ]);
    }
    return rows(`no proxy, while the proxy of others ${mood}`, phasesOf, columns);
  });
}

const p99Of = ({ p99Ms }: { p99Ms: number }) => p99Ms;

const coresOf = ({ cpu: { byName, seconds } }: ProxyPhase) =>
  sum(EVERYTHING.map((name) => byName[name] ?? NaN)) / seconds;
const is = (mood: string) => (phase: ProxyPhase) => phase.mood === mood;

function ofMood(
  phases: readonly ProxyPhase[],
  mood: string,
  of: (phase: ProxyPhase) => number,
): number {
  return median(phases.filter(is(mood)).map(of));
}
