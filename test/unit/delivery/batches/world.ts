import { assemble } from '../../../../services/delivery/assemble';
import { type Deliverer } from '../../../../services/delivery/deliverer';
import { type OpenDestination } from '../../../../services/delivery/destinations/endpoint';
import { type SendRequest, type SendResult } from '../../../../services/delivery/http/exchange';
import { StallClock } from '../../../../services/delivery/clock/stall-clock';
import { defined } from '../../../../shared/collections/defined';
import { type DeliveryEvent } from '../../../../shared/model/attempt-events';
import { readEvents } from '../../../../shared/model/attempt-rows';
import { type BatchSettings, DELIVERIES_HEADER } from '../../../../shared/model/batch';
import { type Delivery, encodeDelivery } from '../../../../shared/model/delivery';
import { type OutRecord } from '../../../../shared/kafka/port';
import { createLog } from '../../../../shared/telemetry/log';
import { ProcessTime } from '../../../../tools/simulator/process-time';
import { Agenda } from '../../../../tools/simulator/virtual-clock';
import { fakeDeletions } from '../../../support/fakes';
import { aDelivery, anEndpoint } from '../../../support/factories';

/** Delivery processes in virtual time, with a Kafka and receivers that a test scripts. */

const TIERS = [1_000, 5_000];
const WINDOW_MS = 3_600_000;
const ACKNOWLEDGED_MS = 5;
const PARTITIONS = 4;

export interface Post {
  path: string;
  atMs: number;
  id: string;
  /** ids by `waypost-deliveries` */
  deliveries: string[];
  events: { id: string; pad?: string }[];
  bytes: number;
  headers: Record<string, string>;
}
export type Answer =
  | number
  | {
      status: number;
      headers?: Record<string, string>;
      body?: string;
      truncated?: boolean;
    };
interface LogRecord {
  topic: string;
  partition: number;
  offset: number;
  headers: Record<string, string>;
  value: Buffer;
  state: 'unread' | 'open' | 'done';
}

export class World {
  readonly agenda = new Agenda();
  readonly posts: Post[] = [];
  readonly events: DeliveryEvent[] = [];
  readonly dead: string[] = [];
  readonly records: LogRecord[] = [];
  answer: (post: Post) => Answer = () => 204;
  latencyMs: () => number = () => 20;
  /** before a request is written */
  connectMs = 0;
  version = 1;
  readonly deletions = fakeDeletions();
  destination: OpenDestination;
  #process: DeliveryProcess;

  constructor(
    paths: string[],
    public batch: BatchSettings | undefined,
    private readonly maxBytes = 1e9,
  ) {
    this.destination = this.#destinationNow(paths);
    this.#process = this.#start();
  }

  /** Changes the setting, as another version of the destination. */
  configure(batch: BatchSettings | undefined, change: Partial<OpenDestination> = {}): void {
    this.batch = batch;
    this.version++;
    this.destination = {
      ...this.#destinationNow(this.destination.endpoints.map(({ path }) => path)),
      ...change,
    };
  }

  /** Appends a delivery to `webhooks`. */
  accept(
    id: string,
    {
      pad = '',
      topic = 'webhooks',
      ...change
    }: Partial<Delivery> & { pad?: string; topic?: string } = {},
  ) {
    const nowMs = this.#process.time.wallMs();
    const delivery = aDelivery({
      id,
      messageId: `m_${id}`,
      destinationId: 'dst',
      acceptedAt: nowMs,
      expiresAt: nowMs + WINDOW_MS,
      ...change,
    });
    const value = Buffer.from(
      JSON.stringify({
        id,
        ...defined({ pad: pad !== '' ? pad : undefined }),
      }),
    );
    this.#append({ topic, key: id, value, headers: encodeDelivery(delivery) });
  }

  /** Ends the process without notice: its writes in flight and its requests' responses are lost. */
  kill(): void {
    this.#process.isDead = true;
    for (const record of this.records) if (record.state === 'open') record.state = 'unread';
    this.#process = this.#start();
  }

  /** Moves all partitions away and back: records that have not started are handed back. */
  async rebalance(): Promise<void> {
    this.#process.revoke();
    await this.run(30);
    this.#process.assign();
  }

  revoke(): void {
    this.#process.revoke();
  }

  /** @param over ends the run early; asked once a second */
  async run(ms: number, over?: () => boolean): Promise<void> {
    await this.agenda.run(this.agenda.now + ms, over);
  }

  /** Returns how a delivery ended, once for each time that it did. */
  ends(id: string): string[] {
    return this.events.flatMap((event) => {
      if (event.delivery !== id) return [];
      if (event.kind === 'dead' || event.kind === 'cancelled') return [event.reason];
      return event.kind === 'attempt' && event.outcome === 'delivered' && !event.late
        ? ['delivered']
        : [];
    });
  }

  attempts(id: string) {
    return this.events.flatMap((event) =>
      event.delivery === id && event.kind === 'attempt' ? [event] : [],
    );
  }

  get open(): LogRecord[] {
    return this.records.filter(({ state }) => state !== 'done');
  }

  post(request: SendRequest): Post {
    const headers: Record<string, string> = {};
    for (let i = 0; i < request.headers.length; i += 2) {
      headers[request.headers[i]?.toLowerCase() ?? ''] = request.headers[i + 1] ?? '';
    }
    const post = {
      path: request.path,
      atMs: this.agenda.now,
      id: headers['webhook-id'] ?? '',
      headers,
      deliveries: headers[DELIVERIES_HEADER]?.split(',') ?? [],
      events: JSON.parse(request.body.toString()) as Post['events'],
      bytes: request.body.length,
    };
    this.posts.push(post);
    return post;
  }

  /** Stores records as Kafka does. A record of a tier returns when it is due. */
  store(records: OutRecord[]): void {
    for (const record of records) {
      if (record.topic === 'attempts') {
        this.events.push(...(readEvents(record.value) as this['events']));
      } else if (record.topic === 'webhooks.dead') this.dead.push(record.headers?.delivery ?? '');
      else {
        const tierMs = Number(/retry\.(\d+)s/.exec(record.topic)?.[1]) * 1_000;
        this.agenda.in(tierMs, () => this.#append({ ...record, topic: 'webhooks.due' }));
      }
    }
  }

  #append({ topic, headers = {}, value }: OutRecord): void {
    const offset = this.records.length;
    const record: LogRecord = {
      topic,
      offset,
      partition: offset % PARTITIONS,
      headers,
      value: Buffer.from(value ?? ''),
      state: 'unread',
    };
    this.records.push(record);
    this.agenda.in(1, () => this.#process.read());
  }

  #start(): DeliveryProcess {
    const process = new DeliveryProcess(this, this.maxBytes);
    this.agenda.in(1, () => process.read());
    return process;
  }

  #destinationNow(paths: string[]): OpenDestination {
    const endpoints = paths.map((path) =>
      anEndpoint({
        id: `whk${path}`,
        hash: `hash${path}`,
        lane: `dst/hash${path}`,
        path,
        ...defined({ batch: this.batch }),
      }),
    );
    return { enabled: true, paused: false, secrets: undefined, endpoints };
  }
}

class DeliveryProcess {
  isDead = false;
  readonly time: ProcessTime;
  readonly #deliverer: Deliverer;
  #isRevoking = false;

  constructor(
    private readonly world: World,
    maxBytes: number,
  ) {
    const time = (this.time = new ProcessTime(world.agenda));
    const producer = {
      send: (records: OutRecord[]) => this.#append(records),
      pendingBytes: 0,
      oldestPendingAt: undefined,
      close: () => Promise.resolve(),
    };
    const { deliverer } = assemble({
      config: {
        completeAt: Infinity,
        changes: 0,
        onComplete: () => undefined,
        expectSoon: () => undefined,
      },
      deletions: world.deletions,
      destinations: {
        lookup: () => ({ kind: 'open', version: world.version, destination: world.destination }),
      },
      sender: { send: this.#send.bind(this) },
      producer,
      clock: new StallClock(time),
      time,
      log: createLog('test', 'silent'),
      tiersMs: TIERS,
      windowMs: WINDOW_MS,
      pool: { total: 100, reserve: 10 },
      limits: { maxBytes, maxUnacknowledgedBytes: 1e9 },
      onRoom: () => this.read(),
      onFatal: (error) => {
        throw error;
      },
    });
    this.#deliverer = deliverer;
  }

  read(): void {
    if (this.isDead || this.#isRevoking) return;
    for (const record of this.world.records) {
      if (record.state !== 'unread') continue;
      record.state = 'open';
      if (this.#offer(record) === 'accepted') continue;
      record.state = 'unread';
      return;
    }
  }

  revoke(): void {
    this.#isRevoking = true;
    this.#deliverer.onRevoking();
  }

  assign(): void {
    this.#isRevoking = false;
    this.read();
  }

  #offer(record: LogRecord) {
    const { topic, partition, offset, headers, value } = record;
    const isRevoking = () => this.#isRevoking;
    const move = (state: LogRecord['state']) => {
      if (!this.isDead) record.state = state;
      return true;
    };
    return this.#deliverer.onRecord({
      topic,
      partition,
      offset,
      epoch: 0,
      headers,
      value,
      key: null,
      timestampMs: this.time.wallMs(),
      get isRevoking() {
        return isRevoking();
      },
      isInDoubt: false,
      done: () => move('done'),
      handBack: () => move('unread'),
      defer: () => undefined,
    });
  }

  #append(records: OutRecord[]): Promise<void> {
    return new Promise((resolve) => {
      this.world.agenda.in(ACKNOWLEDGED_MS, () => {
        if (this.isDead) return;
        this.world.store(records);
        resolve();
      });
    });
  }

  #send(request: SendRequest, done: (result: SendResult) => void): void {
    const { agenda, connectMs } = this.world;
    if (connectMs === 0) this.#write(request, done);
    else agenda.in(connectMs, () => this.#write(request, done));
  }

  #write(request: SendRequest, done: (result: SendResult) => void): void {
    if (this.isDead) return;
    if (request.isPermitted?.() === false) {
      const error = { code: 'connection' as const, message: 'not sent' };
      done({ ok: false, durationMs: 0, error, excuse: 'unpermitted' });
      return;
    }
    const post = this.world.post(request);
    const durationMs = this.world.latencyMs();
    this.world.agenda.in(durationMs, () => {
      if (!this.isDead) done(resultOf(this.world.answer(post), durationMs));
    });
  }
}

function resultOf(answer: Answer, durationMs: number): SendResult {
  const {
    status,
    body = '',
    headers = {},
    truncated = false,
  } = typeof answer === 'number' ? { status: answer } : answer;
  return {
    ok: true,
    response: { status, headers, body: Buffer.from(body), truncated },
    durationMs,
  };
}
