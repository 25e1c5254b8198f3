import { KafkaTail } from '../../../shared/kafka/tail';
import { createLog } from '../../../shared/telemetry/log';
import { randomOf } from '../../../tools/harness/random';
import { cases, seedRanges } from '../../support/cases';
import { Coordinator } from './group/coordinator';
import { alive, ModelBrokers, type World } from './group/model-brokers';
import { ModelLog } from './group/model-log';
import { ended, VirtualTime } from './group/virtual-time';

/**
 * A tail on a model of the brokers, in virtual time, on schedules derived from seeds: its log is
 * cut by an election, a power cut or a restored copy, its topic is made again, brokers are away,
 * and somebody waits for its end.
 */

const SEEDS = seedRanges(cases(400), 100);
const TOPIC = 'config';
const SETTLED_WITHIN_MS = 60_000;

afterEach(() => VirtualTime.uninstall());

class TailWorld {
  readonly problems: string[] = [];
  /** append times of the records that were passed on; since the last start over, if it may */
  seen: number[] = [];
  #stampedAt = 0;
  /** append times of what the log held when it was last read anew */
  #heldAnew: number[] = [];
  readonly #time = new VirtualTime();
  readonly #log = new ModelLog();
  readonly #fate = alive();
  readonly #world: World;
  readonly #tail: KafkaTail;
  readonly #random;

  constructor(seed: number, mayStartOver: boolean) {
    this.#time.install();
    const random = (this.#random = randomOf(seed));
    this.#world = {
      time: this.#time,
      random,
      coordinator: new Coordinator(this.#time, random),
      counts: new Map([[TOPIC, 1]]),
      logs: new Map([[`${TOPIC}/0`, this.#log]]),
      topicIds: new Map([[TOPIC, `${TOPIC}-1`]]),
      starts: 1,
    };
    this.#append();
    const options = {
      name: 'model',
      topic: TOPIC,
      from: 'beginning' as const,
      prefix: '',
      wait: { maxWaitTime: 100, minBytes: 1 },
      brokers: new ModelBrokers(this.#world, this.#fate),
      log: createLog('model', 'silent'),
      onRecord: ({ timestampMs }: { timestampMs: number }) => void this.seen.push(timestampMs),
      onComplete: () => this.#check(),
      onFatal: (error: unknown) => void this.problems.push(String(error)),
    };
    const onStartOver = () => {
      this.seen = [];
      this.#heldAnew = this.#log.records.map(({ timestamp }) => timestamp);
    };
    this.#tail = new KafkaTail(mayStartOver ? { ...options, onStartOver } : options);
  }

  async run(): Promise<string[]> {
    const random = this.#random;
    await this.#time.run(SETTLED_WITHIN_MS, ended(this.#tail.start()));
    for (let steps = random.between(1, 6); steps > 0; steps--) {
      const gapMs = random.one([0, 50, 400, 7_000]);
      await this.#time.pass(random.between(0, gapMs));
      // Somebody waits for the end, perhaps across a cut.
      if (random.next() < 0.5) void this.#tail.caughtUp(30_000).catch(() => undefined);
      const roll = random.next();
      if (roll < 0.5) this.#cut();
      else if (roll < 0.7) this.#fate.awayUntil = this.#time.now + random.between(0, 20_000);
      else this.#append();
    }
    this.#append();
    const { now } = this.#time;
    const settled = await this.#time.run(
      Math.max(now, this.#fate.awayUntil) + SETTLED_WITHIN_MS,
      () => this.#tail.completeAt > now,
    );
    if (!settled) this.problems.push('not complete');
    void this.#tail.stop();
    return this.problems;
  }

  /** What the log held at `completeAt` is known, and what it held when it was read anew. */
  #check(): void {
    const missing = this.#log.records.filter(
      ({ timestamp }) =>
        // Of the same millisecond some may be later.
        (timestamp < Math.floor(this.#tail.completeAt) || this.#heldAnew.includes(timestamp)) &&
        !this.seen.includes(timestamp),
    );
    if (missing.length > 0) this.problems.push(`${String(missing.length)} records are not known`);
    if (new Set(this.seen).size < this.seen.length) this.problems.push('a record came twice');
  }

  /** Returns what is known that the log does not hold. */
  get gone(): number[] {
    const held = new Set(this.#log.records.map(({ timestamp }) => timestamp));
    return this.seen.filter((stamp) => !held.has(stamp));
  }

  #append(): void {
    this.#log.append(this.#random.between(0, 12), () => {
      this.#stampedAt = Math.max(this.#stampedAt + 1, Math.floor(this.#time.now));
      return this.#stampedAt;
    });
  }

  #cut(): void {
    const random = this.#random;
    const kind = random.one(['election', 'power cut', 'restored', 'made again']);
    this.#log.cut(kind === 'made again' ? 0 : random.between(0, this.#log.end));
    if (kind === 'made again') {
      this.#log.epoch = 0;
      this.#world.topicIds.set(TOPIC, `${TOPIC}-${String(this.#time.now)}`);
    } else if (kind !== 'restored') {
      this.#log.epoch++;
    }
    this.#append();
    if (kind === 'power cut' || kind === 'restored') this.#world.starts++;
  }
}

test.each(SEEDS)(
  'a tail that goes on after cuts knows all records, each once, seeds %i to %i',
  async (from, to) => {
    for (let seed = from; seed < to; seed++) {
      const problems = await new TailWorld(seed, false).run();
      expect({ seed, problems }).toEqual({ seed, problems: [] });
    }
  },
);

test.each(SEEDS)(
  'a tail that starts over knows what the log holds, and nothing else, seeds %i to %i',
  async (from, to) => {
    for (let seed = from; seed < to; seed++) {
      const world = new TailWorld(seed, true);
      const problems = await world.run();
      expect({ seed, problems, gone: world.gone }).toEqual({ seed, problems: [], gone: [] });
    }
  },
);
