import { loadSettings } from '../../../shared/runtime/settings';
import { readable } from '../arithmetic';
import { type Options, type Part } from '../options';
import { BODY_BYTES } from '../payload';
import { DEFINITIONS } from '../shop';
import { type Sizes } from '../sizes';
import { type Results, type Round } from './figures';

/** The notes below the table: the method and size of each part, the machine, and faults. Pure. */

/** CPU that other processes may use before the figures suffer: they share caches and cores. */
const NOISY_CORES = 0.2;

const after = (size: { warmUp: number; count: number }) =>
  `${String(size.count)} after ${String(size.warmUp)} to warm up`;

/** The method and the size of each part, in the order of the notes. */
const PARTS: Record<Part, { method: string; size: (sizes: Sizes) => string }> = {
  bare: {
    method: 'undici Pool, 64 connections, JSON.stringify and HMAC-SHA1 a request',
    size: ({ bare }) => after(bare),
  },
  delivery: {
    method: 'fills the topic webhooks first; ends when Kafka has acknowledged all outcomes',
    size: ({ delivery }) => after(delivery),
  },
  https: {
    method:
      'the bare loop and delivery as above over TLS 1.3 with a P-256 certificate; then ' +
      'many endpoints, each with one webhook a round: CPU and handshakes after the first ' +
      'round',
    size: ({ https: h }) =>
      `${after(h.busy)}; ${String(h.endpoints)} endpoints, ${String(h.rounds)} rounds of ` +
      `${String(h.roundSeconds)} s`,
  },
  telemetry: {
    method:
      'as delivery, alternately without and with OpenTelemetry; with it: 5 % of the ' +
      'messages traced, OTLP to a collector that discards it, /metrics read every 4 s',
    size: ({ delivery }) => `twice each way, ${after(delivery)}`,
  },
  filters: {
    method:
      'fills the topic messages first, each for every destination; the router alone, the ' +
      'cases alternate; a ratio compares with the same turn without a filter',
    size: ({ filters: f }) =>
      `${String(f.destinations)} destinations, ${after(f)}, ${String(f.turns)} times each`,
  },
  batches: {
    method: 'every service as under npm start, closed loop, at most 2,000 calls in flight',
    size: ({ batches }) => `${after(batches)}, ${String(batches.connections)} connections`,
  },
  singles: {
    method: 'the same; the CPU of the load (bench) and of the receiver does not count',
    size: ({ singles }) => `${after(singles)}, ${String(singles.connections)} connections`,
  },
  batched: {
    method:
      'as delivery, then as batches with every service; the destinations have a POST for ' +
      'each event, then batches of them',
    size: ({ batched: b }) =>
      `up to ${String(b.maxEvents)} events a POST; delivery alone ${after(b.delivery)}; ` +
      `all services ${after(b.all)}`,
  },
  load: {
    method:
      'all services without calls, and an open loop of single calls to one endpoint at rising rates',
    size: ({ load: l }) =>
      `idle ${String(l.settleSeconds)} s after the start; ${String(l.seconds)} s at each ` +
      `of ${l.rates.join(', ')}/s${l.together ? '; all services in one process' : ''}`,
  },
  latency: {
    method:
      'open loop of single calls; time from just before the call to the arrival of its webhook',
    size: ({ latency }) => `${String(latency.perSecond)}/s, ${after(latency)}`,
  },
  sustained: {
    method: 'as batches, second by second',
    size: ({ sustained: s }) =>
      `batches of ${String(s.callsPerRequest)} for ${String(s.seconds)} s`,
  },
  processes: {
    method:
      'as batches and singles, with one, two and four processes of ingest, router and ' +
      'delivery; a request goes to each ingest in turn; the CPU of a service is that of ' +
      'its processes together',
    size: ({ processes: p }) =>
      `${p.counts.join(', ')} processes; the warm-up for each of them; batches ` +
      `${after(p.batches)}, single calls ${after(p.singles)}`,
  },
  rolling: {
    method:
      'open loop of single calls to one endpoint; ingest, router and delivery are replaced ' +
      'one after the other: a second process starts, then the first one stops; calls by ' +
      'the step in which they were sent',
    size: ({ rolling: r }) =>
      `${String(r.perSecond)}/s after ${String(r.warmUpSeconds)} s to warm up, ` +
      `${String(r.seconds)} s a step`,
  },
  isolation: {
    method:
      'open loop of single calls; every phase has the same rate to every endpoint and ' +
      'measures only endpoints that hang in no phase; the warm-up has separate endpoints, ' +
      'some of them hanging',
    size: ({ isolation: i }) =>
      `${String(i.endpoints)} endpoints, ${String(i.seconds)} s a phase, at ` +
      `${String(i.loadPercent)} % of ` +
      `capacity${i.together ? '; all services in one process' : ''}`,
  },
  backlog: {
    method: 'to a new lane, then again; ideal: the lane at its widest from the start',
    size: ({ backlog: b }) =>
      `${String(b.count)} concurrent deliveries to an endpoint that takes ${String(b.answerMs)} ms`,
  },
  outage: {
    method: 'open loop of single calls for one endpoint, which answers 503 and then 200',
    size: ({ outage: o }) => `${String(o.perSecond)}/s, dead for ${String(o.deadSeconds)} s`,
  },
  waiting: {
    method:
      'writes to the two longest tiers; lateness of a flow through the shortest tier, by ' +
      'the clock of the broker',
    size: ({ waiting: w }) =>
      `${String(w.count)} in tiers of ${String(w.tierPartitions ?? w.partitions)} ` +
      `partitions, ${String(w.partitions)} of other topics, ${String(w.perSecond)}/s ` +
      `falling due, ${String(w.seconds)} s a phase`,
  },
  hostile: {
    method:
      'control and ingest alone; a gzip bomb without a key and with a wrong key, and a ' +
      'large batch with the public key of another source; time until the response of ingest',
    size: ({ hostile: h }) =>
      `${String(h.perSecond)}/s hostile, honest calls at ${String(h.loadPercent)} % of ` +
      `capacity, ${String(h.seconds)} s a phase`,
  },
  soak: {
    method:
      'open loop of single calls to several endpoints, one of which answers some with 503, ' +
      'with embedded broker and database; resident memory of every process (control with ' +
      'its database) once a minute; growth: the slope of a line through the samples after ' +
      'the first sixth',
    size: ({ soak: s }) =>
      `${String(s.perSecond)}/s to ${String(s.endpoints)} endpoints for ` +
      `${String(s.minutes)} minutes, one in ${String(s.failsEvery)} fails at one of them`,
  },
  audiences: {
    method:
      'fills the topic messages first; then the router alone; then the audiences service ' +
      'alone until all messages are counted and the first sync has ended; then without its ' +
      'store, and with new messages',
    size: ({ audiences: a }) =>
      `${String(a.users)} users, ${String(a.passes)} messages of each, then ` +
      `${String(a.traffic)} more; ${String(DEFINITIONS.audiences)} audiences, ` +
      `${String(DEFINITIONS.traits)} computed traits`,
  },
};

/** Describes the settings of the measurement, and the size of each of its parts. */
export function settingsOf({ sizes, only }: Pick<Options, 'sizes' | 'only'>): Results['settings'] {
  const defaults = loadSettings({});
  return {
    parts: [...only].join(','),
    bodyBytes: BODY_BYTES,
    partitions: defaults.WAYPOST_PARTITIONS,
    logLevel: defaults.WAYPOST_LOG_LEVEL,
    ...Object.fromEntries([...only].map((part) => [part, PARTS[part].size(sizes)])),
  };
}

/** Describes the method of each measured part. */
export function methodOf({ rounds, settings }: Results): string[] {
  const others = othersUsed(rounds);
  return [
    'CPU time is user and system time of the whole process (/proc/PID/stat; the bare loop: ' +
      'process.cpuUsage).',
    'Ratios are taken within a round (the bare loop runs before each part that has one); a ' +
      'median is over the rounds.',
    ...Object.entries(PARTS).flatMap(([part, { method }]) => {
      const size = settings[part];
      return size === undefined ? [] : [`${part}: ${method}; ${String(size)}.`];
    }),
    'Others, on this machine or its host, used ' +
      `${others.length > 0 ? `up to ${readable(Math.max(...others))} cores` : 'an unknown share'} ` +
      'during the run.',
  ];
}

/** Describes the machine and the settings. */
export function describeRun({ at, machine, settings, rounds }: Results): string[] {
  const { cores, cpu, memoryGb, system, node, java, kafka } = machine;
  const text = (name: string) => String(settings[name]);
  return [
    `${at}: ${String(rounds.length)} round(s) on ${String(cores)} cores (${cpu}), ` +
      `${String(memoryGb)} GB, ${system}; everything on the same cores.`,
    `Node ${node}; Apache Kafka ${kafka}, one node, on ${java}; ${text('partitions')} ` +
      'partitions, acks=all, replication 1.',
    `Bodies of ${text('bodyBytes')} bytes, signed; log level ${text('logLevel')}.`,
  ];
}

/** Lists failed measurements and unwanted outcomes. */
export function faultsOf({ rounds }: Results): string[] {
  const found = rounds.flatMap((round, i) =>
    faultsOfRound(round).map((fault) => `round ${String(i + 1)}, ${fault}`),
  );
  const noisy = othersUsed(rounds).some((cores) => cores > NOISY_CORES);
  return noisy
    ? [
        ...found,
        'the machine was not quiet: CPU times are too high and rates too low; repeat the run',
      ]
    : found;
}

function faultsOfRound(round: Round): string[] {
  const faults = round.failures.map(({ part, why }) => `${part}: could not be measured: ${why}`);
  const say = (part: string, count: number, what: string) => {
    if (count !== 0) faults.push(`${part}: ${readable(count)} ${what}`);
  };
  const {
    delivery,
    batches,
    singles,
    latency,
    sustained,
    rolling,
    isolation,
    backlog,
    outage,
    waiting,
  } = round;
  for (const [what, count] of Object.entries(delivery?.warnings ?? {})) {
    say('delivery alone', count, what);
  }
  for (const [what, count] of Object.entries(round.warnings ?? {})) {
    say('all services', count, what);
  }
  for (const [part, figure] of Object.entries({
    delivery,
    batches,
    singles,
    latency,
    sustained,
    rolling,
    outage,
  })) {
    if (!figure) continue;
    if ('missing' in figure) say(part, figure.missing, 'accepted and not delivered');
    if ('repeats' in figure) say(part, figure.repeats, 'POSTs more than deliveries');
    if ('diverted' in figure) {
      say(part, figure.diverted, 'records in tiers or dead letters, since the system started');
    }
  }
  for (const { hanging, refused, missing, mostConnections } of isolation?.phases ?? []) {
    const phase = `isolation, ${String(hanging)} hang`;
    say(phase, refused, 'calls that ingest did not accept');
    say(phase, missing, 'accepted and not delivered');
    say(
      phase,
      Math.max(0, mostConnections - (isolation?.laneLimit ?? 0)),
      'connections more than a lane may have',
    );
  }
  say('backlog, a new lane', backlog?.first.repeats ?? 0, 'POSTs more than deliveries');
  say('backlog, a used lane', backlog?.second.repeats ?? 0, 'POSTs more than deliveries');
  for (const { name, lateness } of waiting?.phases ?? []) {
    say(`waiting, ${name}`, lateness.missing, 'due and not put');
  }
  return faults;
}

/**
 * Returns the cores used by others during each figure: processes of this machine, and other
 * machines on its host.
 */
function othersUsed(rounds: Results['rounds']): number[] {
  const figures = rounds.flatMap((round) => [
    round.delivery,
    round.batches,
    round.singles,
    round.latency,
    round.sustained,
    ...(round.isolation?.phases ?? []),
    ...Object.values(round.batched?.delivery ?? {}),
    ...Object.values(round.batched?.all ?? {}),
    ...(round.filters?.cases ?? []).flatMap(({ turns }) => turns),
    round.audiences?.router,
    round.audiences?.counting,
    round.audiences?.traffic,
  ]);
  return figures.flatMap((figure) => {
    const { foreignCores, stolenCores } = figure?.cpu ?? {};
    return foreignCores === undefined ? [] : [foreignCores + (stolenCores ?? 0)];
  });
}
