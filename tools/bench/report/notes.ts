import { readable } from '../arithmetic';
import { faultsOf } from './faults';
import { type Results } from './figures';

/** The notes below the table: the method, the machine, and failures. Pure. */

/** CPU that other processes may use before the figures suffer: they share caches and cores. */
const NOISY_CORES = 0.2;

/** Describes the method of each measured figure. */
export function howTaken({ rounds, settings }: Results): string[] {
  const others = othersUsed(rounds);
  const about: Record<string, string> = {
    bare: 'undici Pool, 64 connections, JSON.stringify and HMAC-SHA1 a request',
    delivery: 'fills the topic webhooks first; ends when all outcomes are in the topic attempts',
    telemetry:
      'as delivery, alternately without and with OpenTelemetry; with it: 5 % of the messages traced, OTLP to a collector that discards it, /metrics read every 4 s',
    filters:
      'fills the topic messages first, each for every destination; the router alone, the cases alternate; a ratio compares with the same turn without a filter',
    batches: 'every service as under npm start, closed loop, at most 2,000 calls in flight',
    singles: 'the same; the CPU of the load (bench) and of the receiver does not count',
    latency: 'open loop of single calls; time from just before the call to the arrival of its webhook',
    sustained: 'as batches, second by second',
    isolation:
      'open loop of single calls; every phase has the same rate to every endpoint and measures only endpoints that hang in no phase; the warm-up has separate endpoints, some of them hanging',
    backlog: 'to a new lane, then again; ideal: the lane at its widest from the start',
    outage: 'open loop of single calls for one endpoint, which answers 503 and then 200',
    waiting:
      'writes to the two longest tiers; lateness of a flow through the shortest tier, by the clock of the broker',
    hostile:
      'control and ingest alone; a gzip bomb without a key and with a wrong key, and a large batch with the public key of another source; time until the response of ingest',
    audiences:
      'fills the topic messages first; then the router alone; then the audiences service alone until all messages are counted and the first sync has ended; then without its store, and with new messages',
  };
  return [
    'CPU time is user and system time of the whole process (/proc/PID/stat; the bare loop: process.cpuUsage).',
    'Ratios are taken within a round (the bare loop runs before each part that has one); a median is over the rounds.',
    ...Object.entries(about).flatMap(([part, how]) => {
      const size = settings[part];
      return size === undefined ? [] : [`${part}: ${how}; ${String(size)}.`];
    }),
    `Others, on this machine or its host, used ${others.length > 0 ? `up to ${readable(Math.max(...others))} cores` : 'an unknown share'} during the run.`,
  ];
}

/** Lists the failures. */
export function faults({ rounds }: Results): string[] {
  const found = rounds.flatMap(faultsOf);
  const noisy = othersUsed(rounds).some((cores) => cores > NOISY_CORES);
  return noisy
    ? [...found, 'the machine was not quiet: CPU times are too high and rates too low; repeat the run']
    : found;
}

export function about({ at, machine, settings, rounds }: Results): string[] {
  const { cores, cpu, memoryGb, system, node, java, kafka } = machine;
  const text = (name: string) => String(settings[name]);
  return [
    `${at}: ${String(rounds.length)} round(s) on ${String(cores)} cores (${cpu}), ${String(memoryGb)} GB, ${system}; everything on the same cores.`,
    `Node ${node}; Apache Kafka ${kafka}, one node, on ${java}; ${text('partitions')} partitions, acks=all, replication 1.`,
    `Bodies of ${text('bodyBytes')} bytes, signed; log level ${text('logLevel')}.`,
  ];
}

/** Returns the cores used by others during each figure: processes of this machine, and other machines on its host. */
function othersUsed(rounds: Results['rounds']): number[] {
  const figures = rounds.flatMap((round) => [
    ...[round.delivery, round.batches, round.singles, round.latency, round.sustained],
    ...(round.isolation?.phases ?? []),
    ...(round.filters?.cases ?? []).flatMap(({ turns }) => turns),
    ...[round.audiences?.router, round.audiences?.counting, round.audiences?.traffic],
  ]);
  return figures.flatMap((figure) => {
    const { foreignCores, stolenCores } = figure?.cpu ?? {};
    return foreignCores === undefined ? [] : [foreignCores + (stolenCores ?? 0)];
  });
}
