import { type ProcessName, SERVICES } from '../../bin/service-list';
import { type Random, randomOf } from '../harness/random';
import { type Role } from './scenario';

/** Plans the faults and their times, from a seed alone. Pure. */

/** Selects a broker of a cluster: the leader of its controllers, or of a partition of a topic. */
export type WhichBroker =
  { leads: 'controllers' } | { leads: 'partition'; topic: string; nth: number };

export type Act =
  /** kill -9 */
  | { kind: 'kill'; process: ProcessName }
  /** SIGTERM: it drains, ends, and is restarted */
  | { kind: 'stop'; process: ProcessName }
  /** SIGSTOP, and SIGCONT later */
  | { kind: 'freeze'; process: ProcessName; forMs: number }
  | { kind: 'kill_broker'; which: WhichBroker }
  /** SIGTERM: it hands over its leaderships, and is restarted */
  | { kind: 'stop_broker'; which: WhichBroker }
  | { kind: 'freeze_broker'; which: WhichBroker; forMs: number }
  /** all brokers lose power: the newest records of each partition of a topic are gone */
  | { kind: 'cut'; topic: string; records: number }
  /** another delivery process joins, and leaves */
  | { kind: 'second_delivery'; forMs: number; leaves: 'SIGTERM' | 'SIGKILL' }
  /** the mended endpoint refuses connections */
  | { kind: 'endpoint_down'; forMs: number }
  /** the clock of a process jumps, and is right again later. @param byMs negative: back */
  | { kind: 'clock'; process: ProcessName; byMs: number; forMs: number }
  /** a user pauses a destination, and resumes it later */
  | { kind: 'pause'; role: Role; forMs: number }
  /** a user sends what waits now, cancels it, or sends dead letters again */
  | { kind: 'send_now' | 'cancel' | 'replay'; role: Role }
  /** a destination is disabled for good */
  | { kind: 'switch_off' }
  /** an endpoint answers 410 from now on */
  | { kind: 'url_gone' };

export type Fault = Act & { atMs: number };

export interface PlanOptions {
  seed: number;
  forMs: number;
  brokers: number;
  /** all services run in one process */
  together: boolean;
  /** the longest downtime of the endpoint: well within the retry window */
  longestOutageMs: number;
}

const FIRST_AT_MS = 2_000;
/**
 * A short run needs many faults. A long run needs pauses in which the system works (a group waits
 * six seconds for the session of a killed process to end), or soon no work is in flight.
 */
const GAP_MS = { least: 1_000, most: 7_000 };
const LONG_RUN = { fromMs: 180_000, gapMs: { least: 1_000, most: 20_000 } };
const FREEZE_MS = { least: 1_000, most: 8_000 };
/**
 * Sometimes longer than a broker's session with its controllers (9 s): they declare it dead, and it
 * returns.
 */
const BROKER_FREEZE_MS = { least: 1_000, most: 12_000 };
/**
 * Calls are cut off. A cut of another topic also undoes what the services have written about them,
 * and then nothing says what should have arrived.
 */
const CUT_TOPIC = 'messages';
const CUT_RECORDS = { least: 1, most: 100 };
const SECOND_MS = { least: 8_000, most: 25_000 };
const PAUSE_MS = { least: 2_000, most: 15_000 };
/** Their endpoints send no Retry-After. */
const SENT_NOW: readonly Role[] = ['failing', 'hanging'];
/** Its deliveries wait long, and none is expected to arrive. */
const CANCELLED: Role = 'hanging';
/** Each replay of it ends like the delivery before. */
const REPLAYED: Role = 'rejecting';
const PAUSED: readonly Role[] = ['slow', 'failing'];
/** Greater than what clocks that are compared may differ by. */
const CLOCK_STEPS_MS = [-75_000, -20_000, 20_000, 75_000];
const CLOCK_MS = { least: 5_000, most: 25_000 };
/** The clock of ingest says when a call was accepted, and then its window ends accordingly. */
const TIMED: readonly ProcessName[] = ['router', 'delivery', 'retry', 'control'];
const SWITCH_OFF_AFTER = 0.6;
const GONE_AFTER = 0.3;
/** Topics with partition leaders worth losing: work, outcomes, and the groups' offsets. */
const LED_TOPICS = ['messages', 'webhooks', 'webhooks.due', 'attempts', '__consumer_offsets'];

/**
 * The processes that faults hit. Processes with work in hand are hit twice as often, because faults
 * of idle ones find less.
 */
const APART: Targets = {
  processes: SERVICES,
  busy: ['router', 'delivery', 'retry'],
  busiest: 'delivery',
};
const TOGETHER: Targets = { processes: ['all'], busy: ['all'], busiest: 'all' };

interface Targets {
  processes: readonly ProcessName[];
  busy: readonly ProcessName[];
  busiest: ProcessName;
}

/**
 * Returns the faults of a run in order of time. It draws them from a bag without replacement, so
 * that a short run has each kind, and refills the bag when it is empty.
 */
export function planFaults(options: PlanOptions): Fault[] {
  const random = randomOf(options.seed);
  const faults: Fault[] = [];
  let bag: Act[] = [];
  const gapMs = options.forMs < LONG_RUN.fromMs ? GAP_MS : LONG_RUN.gapMs;
  let atMs = FIRST_AT_MS;
  while (atMs < options.forMs) {
    if (bag.length === 0) bag = random.shuffled(fillBag(random, options));
    const act = bag.pop();
    if (act) faults.push({ ...act, atMs });
    atMs += random.between(gapMs.least, gapMs.most);
  }
  faults.push({ kind: 'switch_off', atMs: Math.round(options.forMs * SWITCH_OFF_AFTER) });
  faults.push({ kind: 'url_gone', atMs: Math.round(options.forMs * GONE_AFTER) });
  return faults.sort((a, b) => a.atMs - b.atMs);
}

function fillBag(random: Random, { brokers, together, longestOutageMs }: PlanOptions): Act[] {
  const { processes, busy, busiest } = together ? TOGETHER : APART;
  const freezeMs = () => random.between(FREEZE_MS.least, FREEZE_MS.most);
  const breakBrokers: ('kill_broker' | 'stop_broker')[] =
    brokers === 1 ? ['kill_broker'] : ['kill_broker', 'kill_broker', 'stop_broker', 'stop_broker'];
  return [
    ...processes.map((process): Act => ({ kind: 'kill', process })),
    { kind: 'kill', process: busiest },
    { kind: 'stop', process: random.one(busy) },
    { kind: 'stop', process: random.one(processes) },
    { kind: 'freeze', process: random.one(busy), forMs: freezeMs() },
    { kind: 'freeze', process: random.one(processes), forMs: freezeMs() },
    ...breakBrokers.map((kind): Act => ({ kind, which: someBroker(random) })),
    {
      kind: 'freeze_broker',
      which: someBroker(random),
      forMs: random.between(BROKER_FREEZE_MS.least, BROKER_FREEZE_MS.most),
    },
    ...(brokers === 1 ? [] : [someCut(random)]),
    {
      kind: 'second_delivery',
      forMs: random.between(SECOND_MS.least, SECOND_MS.most),
      leaves: random.one(['SIGTERM', 'SIGKILL'] as const),
    },
    {
      kind: 'endpoint_down',
      forMs: random.between(Math.round(longestOutageMs / 4), longestOutageMs),
    },
    {
      kind: 'pause',
      role: random.one(PAUSED),
      forMs: random.between(PAUSE_MS.least, PAUSE_MS.most),
    },
    { kind: 'send_now', role: random.one(SENT_NOW) },
    { kind: 'cancel', role: CANCELLED },
    { kind: 'replay', role: REPLAYED },
    ...(together ? [] : TIMED).map((process): Act => ({
      kind: 'clock',
      process,
      byMs: random.one(CLOCK_STEPS_MS),
      forMs: random.between(CLOCK_MS.least, CLOCK_MS.most),
    })),
  ];
}

function someBroker(random: Random): WhichBroker {
  if (random.next() < 1 / 3) return { leads: 'controllers' };
  return { leads: 'partition', topic: random.one(LED_TOPICS), nth: random.between(0, 11) };
}

function someCut(random: Random): Act {
  return {
    kind: 'cut',
    topic: CUT_TOPIC,
    records: random.between(CUT_RECORDS.least, CUT_RECORDS.most),
  };
}

/** Describes a fault in a few words. */
export function describeAct(act: Act): string {
  const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;
  switch (act.kind) {
    case 'kill':
    case 'stop':
      return `${act.kind} ${act.process}`;
    case 'freeze':
      return `freeze ${act.process} for ${seconds(act.forMs)}`;
    case 'kill_broker':
      return `kill broker (${leaderOf(act.which)})`;
    case 'stop_broker':
      return `stop broker (${leaderOf(act.which)})`;
    case 'freeze_broker':
      return `freeze broker (${leaderOf(act.which)}) for ${seconds(act.forMs)}`;
    case 'cut':
      return `power cut, ${String(act.records)} records of each partition of ${act.topic} are gone`;
    case 'second_delivery':
      return `second delivery for ${seconds(act.forMs)}, leaves by ${act.leaves}`;
    case 'endpoint_down':
      return `endpoint down for ${seconds(act.forMs)}`;
    case 'clock':
      return (
        `clock of ${act.process} ${seconds(Math.abs(act.byMs))} ` +
        `${act.byMs < 0 ? 'back' : 'ahead'} for ${seconds(act.forMs)}`
      );
    case 'pause':
      return `${act.role} is paused for ${seconds(act.forMs)}`;
    case 'send_now':
      return `a user sends now what waits for ${act.role}`;
    case 'cancel':
      return `a user cancels what waits for ${act.role}`;
    case 'replay':
      return `a user replays what is dead of ${act.role}`;
    case 'switch_off':
      return 'destination switched off';
    case 'url_gone':
      return 'a URL is gone';
  }
}

function leaderOf(which: WhichBroker): string {
  return which.leads === 'controllers' ? 'leader of the controllers' : `leader in ${which.topic}`;
}
