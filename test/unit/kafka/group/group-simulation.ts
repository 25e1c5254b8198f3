import { type KafkaConsumption } from '../../../../shared/kafka/consumer/consumer';
import { SESSION_MS } from '../../../../shared/kafka/consumer/membership';
import { OTHERS_RETURN_MS } from '../../../../shared/kafka/client/connection';
import { type OpenRecord } from '../../../../shared/kafka/port';
import { ByteReader } from '../../../../shared/kafka/protocol/bytes';
import { decodeAssignment } from '../../../../shared/kafka/protocol/group-requests';
import { createLog, type Log } from '../../../../shared/telemetry/log';
import { randomOf, type Random } from '../../../../tools/harness/random';
import { Coordinator } from './coordinator';
import { alive, type Fate, ModelBrokers, type World } from './model-brokers';
import { modelConsumer } from './model-consumer';
import { ModelLog } from './model-log';
import { ended, VirtualTime } from './virtual-time';

/**
 * Simulates a group of processes that join and leave on a schedule derived from a seed: the real
 * consumer and assignor, on models of the brokers and the coordinator, in virtual time. Logs are
 * cut and topics made again, coordinators become unreachable, look-ups are slow, and clocks are
 * set.
 */

export interface Options {
  /** some members do not read the topic `late` */
  mixed: boolean;
  /**
   * members neither leave nor die, but the broker stands still for longer than a session, once all
   * have joined
   */
  pauses?: boolean;
  /** logs are cut, and topics made again, with records that are appended afterwards */
  cuts?: boolean;
  /** topics grow, and one is created; some brokers know it later than others */
  grows?: boolean;
}

interface Process {
  name: string;
  fate: Fate;
  /** its session was lost while it lived, or it stopped undrained: its records may be repeated */
  lost: boolean;
  leaving: boolean;
  topics: string[];
  brokers: ModelBrokers;
  consumption: KafkaConsumption;
  /** partitions from which it has taken records, by id */
  read: Set<string>;
}

/** Enough for the end of a session, a rebalance that waits for it, and some rounds. */
const SETTLED_WITHIN_MS = 60_000;
/** An owner has released a partition after the next commit, which is never later. */
const LET_GO_MS = 250;
const MOST_ROUNDS = 2;
/** Longer than a session: a member that stops keeps its own while requests are in flight. */
const STOP_MS = 20_000;
/** The longest time between two looks of a consumer at its session. */
const LOOK_MS = 1_500;
const LAG_MS = 10_000;
/** The longest time between the deletion of a topic and its creation. */
const MISSING_MS = 5_000;
/** By this the clock of the machine is set. */
const CLOCK_STEPS_MS = [-3_600_000, -70_000, 70_000, 3_600_000];

export class GroupWorld {
  readonly problems: string[] = [];
  readonly #time = new VirtualTime();
  readonly #random: Random;
  readonly #world: World;
  readonly #coordinator: Coordinator;
  readonly #processes: Process[] = [];
  /** by topic/partition/offset@time: after a cut, another record has the same offset */
  readonly #open = new Map<string, Set<Process>>();
  readonly #done = new Map<string, Process>();
  readonly #logs = new Map<string, ModelLog>();
  /** when a record of the brokers was last appended */
  #stampedAt = 0;
  /** when a record of a partition was last in flight, by id */
  readonly #busyAt = new Map<string, number>();
  /** rounds that left a partition without an owner, by id */
  readonly #unowned = new Map<string, number>();
  #changedAt = 0;
  /** Without cuts, none may be reported. */
  readonly #log: Log;

  constructor(
    seed: number,
    private readonly options: Options,
  ) {
    this.#time.install();
    this.#log = createLog('model', options.cuts ? 'silent' : 'error', {
      write: (line) => {
        if (line.includes('consumer.log_cut')) this.problems.push(`a cut is reported: ${line}`);
      },
    });
    const random = (this.#random = randomOf(seed));
    this.#coordinator = new Coordinator(this.#time, random);
    this.#coordinator.onStable = () => this.#countRound();
    const counts = new Map([['a', random.between(1, 6)]]);
    if (random.next() < 0.5) counts.set('b', random.between(1, 6));
    if (options.grows) counts.set('new', 0);
    if (options.mixed && random.next() < 0.5) counts.set('late', random.between(1, 6));
    this.#world = {
      time: this.#time,
      random,
      coordinator: this.#coordinator,
      counts,
      logs: this.#logs,
      topicIds: new Map([...counts.keys()].map((topic) => [topic, `${topic}-1`])),
      starts: 1,
    };
    for (const id of this.#ids()) {
      this.#logs.set(id, new ModelLog());
      if (random.next() < 0.3) this.#coordinator.committed.set(id, { offset: 0, metadata: '' });
    }
    if (random.next() < 0.5) this.#produce();
  }

  /** Runs the schedule. @returns the problems found */
  async run(): Promise<string[]> {
    const random = this.#random;
    this.#join();
    for (let steps = random.between(1, 7); steps > 0 && !this.options.pauses; steps--) {
      const gapMs = random.one([0, 50, 400, 1_000, 3_000, SESSION_MS]);
      await this.#time.pass(random.between(0, gapMs));
      if (this.options.cuts && random.next() < 0.5) this.#cutSome();
      else if (this.options.grows && random.next() < 0.3) this.#grow();
      else this.#step();
      if (random.next() < 0.2) this.#time.clockSetMs = random.one(CLOCK_STEPS_MS);
    }
    if (this.options.pauses) await this.#pause();
    this.#produce();
    const lagsUntil = this.#world.lag?.untilMs ?? 0;
    this.#changedAt = Math.max(this.#changedAt, this.#time.now, lagsUntil);
    const settled = await this.#time.run(this.#changedAt + SETTLED_WITHIN_MS, () =>
      this.#isSettled(),
    );
    if (!settled) this.problems.push(`not settled: ${this.#unsettled().join(', ')}`);
    // All members leave now, one after the other.
    this.#coordinator.onStable = () => undefined;
    const stopped = Promise.all(this.#processes.map(({ consumption }) => consumption.stop(0)));
    await this.#time.run(this.#time.now + 1_000, ended(stopped));
    return this.problems;
  }

  /** Lets members join and read, and then keeps the broker from answering them. */
  async #pause(): Promise<void> {
    const random = this.#random;
    for (let members = random.between(1, 3); members > 0; members--) this.#join();
    await this.#time.run(this.#time.now + SETTLED_WITHIN_MS, () => this.#isSettled());
    this.#produce();
    await this.#time.pass(random.between(0, 1_000));
    const endsAt = this.#time.now + SESSION_MS + random.between(500, 40_000);
    for (const { fate } of this.#processes) fate.awayUntil = endsAt + random.between(0, 1_500);
    // A process that has started in the pause joins later.
    if (random.next() < 0.5) {
      setTimeout(() => this.#join(), endsAt + OTHERS_RETURN_MS - this.#time.now);
    }
    this.#changed();
    this.#changedAt = endsAt;
  }

  #step(): void {
    const random = this.#random;
    const living = this.#processes.filter(({ fate, leaving }) => !fate.dead && !leaving);
    const roll = random.next();
    if (roll < 0.4 || living.length === 0) this.#join();
    else if (roll < 0.6) this.#produce();
    else if (living.length === 1) this.#produce();
    else if (roll < 0.75) {
      const process = random.one(living);
      process.leaving = true;
      const until = this.#time.now + STOP_MS;
      // If the group's leader hangs during the stop, the last commits are refused, and the records
      // are repeated.
      void process.consumption.stop(STOP_MS).then(() => (process.lost ||= this.#time.now >= until));
    } else if (roll < 0.9) random.one(living).fate.dead = true;
    else {
      const process = random.one(living);
      process.lost = true;
      const until = this.#time.now + SESSION_MS + random.between(500, 5_000);
      process.fate[random.next() < 0.5 ? 'awayUntil' : 'unheardUntil'] = until;
      setTimeout(() => this.#produce(), SESSION_MS + LOOK_MS + random.between(0, 2_000));
    }
    this.#changed();
  }

  /** Cuts a log, or makes a topic again, and appends other records, perhaps before anyone reads. */
  #cutSome(): void {
    const random = this.#random;
    const [topic] = random.shuffled([...this.#world.counts.keys()]);
    const kind = random.one(['election', 'power cut', 'restored', 'made again']);
    const ids = this.#idsOf(topic!);
    // It may be missing: it is made soon.
    if (ids.length === 0) return;
    if (kind === 'made again') return this.#makeAgain(topic!);
    const log = this.#logs.get(random.one(ids))!;
    log.cut(random.between(0, log.end));
    if (kind !== 'restored') log.epoch++;
    if (kind !== 'election') this.#world.starts++;
    this.#append(log);
    this.#changed();
  }

  /** Deletes a topic, and makes it with another number of partitions, at once or soon. */
  #makeAgain(topic: string): void {
    const { counts, topicIds } = this.#world;
    for (const id of this.#idsOf(topic)) {
      this.#coordinator.committed.delete(id);
      const log = this.#logs.get(id)!;
      log.cut(0);
      log.epoch = 0;
    }
    counts.set(topic, 0);
    this.#changed();
    const make = () => {
      counts.set(topic, this.#random.between(1, 6));
      topicIds.set(topic, `${topic}-${String(this.#time.now)}`);
      for (const id of this.#idsOf(topic)) {
        if (!this.#logs.has(id)) this.#logs.set(id, new ModelLog());
        this.#append(this.#logs.get(id)!);
      }
      this.#changed();
    };
    if (this.#random.next() < 0.5) make();
    else setTimeout(make, this.#random.between(0, MISSING_MS));
  }

  #append(log: ModelLog): void {
    log.append(this.#random.between(0, 12), () => this.#stamp());
  }

  #grow(): void {
    const random = this.#random;
    const { counts, topicIds } = this.#world;
    const before = new Map(counts);
    const [topic, count] = random.one([...counts]);
    counts.set(topic, count + random.between(1, 4));
    topicIds.set(topic, `${topic}-1`);
    for (const id of this.#ids()) if (!this.#logs.has(id)) this.#logs.set(id, new ModelLog());
    this.#world.lag = { counts: before, untilMs: this.#time.now + random.between(0, LAG_MS) };
    this.#produce();
    this.#changed();
  }

  #stamp(): number {
    this.#stampedAt = Math.max(this.#stampedAt + 1, Math.floor(this.#time.now));
    return this.#stampedAt;
  }

  #changed(): void {
    this.#changedAt = this.#time.now;
    this.#unowned.clear();
  }

  #ids(): string[] {
    return [...this.#world.counts].flatMap(([topic, count]) =>
      Array.from({ length: count }, (_, number) => `${topic}/${String(number)}`),
    );
  }

  #idsOf(topic: string): string[] {
    return this.#ids().filter((id) => id.startsWith(`${topic}/`));
  }

  #produce(): void {
    for (const id of this.#ids()) {
      this.#logs.get(id)!.append(this.#random.between(0, 3), () => this.#stamp());
    }
  }

  #join(): void {
    const random = this.#random;
    const early = this.options.mixed && random.next() < 0.5;
    const name = `member-${String(this.#processes.length)}`;
    const fate = alive();
    const read = new Set<string>();
    const topics = [...this.#world.counts.keys()].filter((topic) => topic !== 'late' || !early);
    const handlerMs = random.one([0, 30, 700, 9_000]);
    const brokers = new ModelBrokers(this.#world, fate);
    const options = {
      topics,
      onRecord: (record: OpenRecord) => {
        this.#taken(process, record, random.between(0, handlerMs));
        return 'accepted' as const;
      },
      onFatal: (error: unknown) => this.problems.push(String(error)),
    };
    const consumption: KafkaConsumption = modelConsumer(brokers, options, this.#log);
    const process: Process = {
      name,
      fate,
      read,
      topics,
      lost: false,
      leaving: false,
      brokers,
      consumption,
    };
    this.#processes.push(process);
    void consumption.start().catch(() => undefined);
  }

  #taken(process: Process, record: OpenRecord, handlerMs: number): void {
    const place = `${record.topic}/${String(record.partition)}`;
    const id = `${place}/${String(record.offset)}@${String(record.timestampMs)}`;
    process.read.add(place);
    const unheardMs = this.#time.now - process.brokers.heardAt;
    if (unheardMs > SESSION_MS + LOOK_MS) {
      this.problems.push(`${process.name} starts ${id} ${String(unheardMs)} ms after its session`);
    }
    // What is cut off keeps no other from the records in its place; and the last record below a cut
    // is read again if its partition moves before anybody has compared it.
    const wasCut = this.#logs.get(place)!.cuts > 0;
    for (const [open, owners] of this.#open) {
      if (!open.startsWith(`${place}/`)) continue;
      for (const other of owners) {
        if (other !== process && this.#isTrusted(other) && !process.lost && !wasCut) {
          this.problems.push(
            `${place} is dispatched by ${other.name} and ${process.name} concurrently`,
          );
        }
      }
    }
    const before = this.#done.get(id);
    if (before && this.#isTrusted(before) && !process.lost && !wasCut) {
      this.problems.push(`${id} was done by ${before.name} and is read again by ${process.name}`);
    }
    const owners = this.#open.get(id) ?? new Set();
    if (owners.has(process) && !process.lost) {
      this.problems.push(`${process.name} starts ${id} twice`);
    }
    this.#open.set(id, owners.add(process));
    setTimeout(() => {
      if (process.fate.dead) return;
      owners.delete(process);
      if (owners.size === 0) this.#open.delete(id);
      this.#busyAt.set(place, this.#time.now);
      this.#done.set(id, process);
      record.done();
    }, handlerMs);
  }

  #isTrusted({ fate, lost }: Process): boolean {
    return !fate.dead && !lost;
  }

  /** Returns the partitions that living members read. */
  #readable(): string[] {
    const living = this.#processes.filter(({ fate, leaving }) => !fate.dead && !leaving);
    return this.#ids().filter((id) =>
      living.some(({ topics }) => topics.includes(id.split('/')[0] ?? '')),
    );
  }

  /** Returns the members of each partition, by id, from the coordinator. */
  #assigned(): Map<string, Process[]> {
    const assigned = new Map<string, Process[]>();
    for (const { memberId, assignment } of this.#coordinator.members) {
      const process = this.#processes.find(({ brokers }) => brokers.memberId === memberId);
      const topics = decodeAssignment(new ByteReader(assignment));
      for (const [topic, numbers] of Object.entries(topics)) {
        if (!process?.topics.includes(topic)) continue;
        for (const number of numbers) {
          const id = `${topic}/${String(number)}`;
          assigned.set(id, [...(assigned.get(id) ?? []), process]);
        }
      }
    }
    return assigned;
  }

  #countRound(): void {
    const assigned = this.#assigned();
    for (const [id, owners] of assigned) {
      if (owners.length > 1) {
        this.problems.push(`${id} is assigned to ${owners.map(({ name }) => name).join()}`);
      }
    }
    // Its members do not know a new partition at once.
    if (this.options.grows) return;
    const known = new Set(this.#processes.map(({ brokers }) => brokers.memberId));
    // The session of a dead or unreachable member has ended, or will end, so that the last change
    // is yet to come.
    const unsettled = this.#processes.some(
      ({ fate, brokers, lost }) => (fate.dead && this.#coordinator.has(brokers.memberId)) || lost,
    );
    for (const id of this.#readable()) {
      // The partitions of one number move together.
      const number = id.split('/')[1];
      const held = [...this.#open.keys()].some((open) => open.split('/')[1] === number);
      const busyAt = [...this.#busyAt].filter(([place]) => place.split('/')[1] === number);
      const letGo = busyAt.every(([, atMs]) => this.#time.now - atMs > LET_GO_MS);
      if (assigned.has(id) || held || !letGo || unsettled || known.size === 0) {
        this.#unowned.delete(id);
        continue;
      }
      const rounds = (this.#unowned.get(id) ?? 0) + 1;
      this.#unowned.set(id, rounds);
      if (rounds > MOST_ROUNDS) {
        this.problems.push(`${id} has had no owner for ${String(rounds)} rounds`);
      }
    }
  }

  #unsettled(): string[] {
    const assigned = this.#assigned();
    const { coordinator } = this.#world;
    if (coordinator.state !== 'Stable') return [coordinator.state];
    return this.#readable().flatMap((id) => {
      const owner = assigned.get(id)?.[0];
      if (!owner || owner.fate.dead) return [`${id} has no owner`];
      const unread = this.#logs
        .get(id)!
        .records.map(({ timestamp }, offset) => `${id}/${String(offset)}@${String(timestamp)}`)
        .filter((each) => !this.#done.has(each));
      return unread.length > 0 ? [`${unread.join()} not done by ${owner.name}`] : [];
    });
  }

  #isSettled(): boolean {
    const away = this.#processes.some(
      ({ fate }) => this.#time.now < Math.max(fate.awayUntil, fate.unheardUntil),
    );
    return !away && this.#open.size === this.#deadOpen() && this.#unsettled().length === 0;
  }

  #deadOpen(): number {
    return [...this.#open.values()].filter((owners) => [...owners].every(({ fate }) => fate.dead))
      .length;
  }
}
