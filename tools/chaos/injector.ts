import { setTimeout as pause } from 'node:timers/promises';
import { type ProcessName, SERVICES, type ServiceName } from '../../bin/service-list';
import { messageOf } from '../../shared/runtime/errors';
import { eventually } from '../../test/support/eventually';
import { healthPortOf } from '../../test/support/service';
import { runsService, type System } from '../harness/system';
import { type BrokerControl } from './broker-control';
import { type Endpoints } from './endpoints';
import { type Disturbance } from './explain-repeats';
import { type Act, describeAct } from './fault-plan';
import { below } from './processes';
import { type Role } from './scenario';
import { startSecondDelivery } from './second-delivery';
import { type WrongClocks } from './wrong-clocks';

/** The parts that faults can break. */
export interface Victims {
  system: System;
  /** the settings of its services, including brokers */
  env: Record<string, string>;
  brokers: BrokerControl;
  clocks: WrongClocks;
  endpoints: Endpoints;
  /** ids */
  destinations: Record<Role, string>;
  /** is told how many records a power cut has removed, while no service can write */
  onCut: (records: number) => void;
  note(text: string): void;
}

type May = Disturbance['may'];

const RECOVERY_MS = 120_000;
/** A change of the configuration reaches every process that runs within this time. */
const KNOWN_WITHIN_MS = 10_000;
const NOTHING: May = [];
/**
 * A killed process writes nothing more; a thawed one may continue work that other processes now
 * own.
 */
const KILLED: Partial<Record<ProcessName, May>> = {
  delivery: ['flight'],
  router: ['writes'],
  retry: ['writes'],
  all: ['flight', 'writes'],
};
const THAWED: Partial<Record<ProcessName, May>> = {
  delivery: ['flight_until', 'late'],
  router: ['writes'],
  retry: ['writes'],
  all: ['flight_until', 'late', 'writes'],
};

/**
 * Performs faults in the background, several at the same time, each until everything works again.
 * Faults of a single resource (a broker that may be missing, an endpoint, a second delivery) wait
 * for each other.
 */
export class Injector {
  readonly disturbances: Disturbance[] = [];
  /** faults that failed, or after which the system did not recover */
  readonly failures: string[] = [];
  performed = 0;
  #over = false;
  readonly #running = new Set<Promise<void>>();
  readonly #turns = new Map<string, Promise<void>>();

  constructor(private readonly victims: Victims) {}

  start(act: Act): void {
    const fault = this.#inTurn(act)
      .catch(
        (error: unknown) => void this.failures.push(`${describeAct(act)}: ${messageOf(error)}`),
      )
      .finally(() => this.#running.delete(fault));
    this.#running.add(fault);
  }

  /** Starts no more faults; resolves when everything that was broken works again. */
  async finish(): Promise<void> {
    this.#over = true;
    await Promise.all(this.#running);
  }

  async #inTurn(act: Act): Promise<void> {
    const turn = turnOf(act);
    const before = this.#turns.get(turn);
    const work = (before ?? Promise.resolve()).then(() =>
      this.#over ? undefined : this.#perform(act),
    );
    if (turn !== '') {
      this.#turns.set(
        turn,
        work.catch(() => undefined),
      );
    }
    await work;
  }

  async #perform(act: Act): Promise<void> {
    this.performed++;
    this.victims.note(describeAct(act));
    const { endpoints, destinations } = this.victims;
    switch (act.kind) {
      case 'kill':
        return this.#during(act, KILLED[act.process] ?? NOTHING, (struck) =>
          this.#end(act.process, 'SIGKILL', struck),
        );
      case 'stop':
        return this.#during(act, NOTHING, () => this.#end(act.process, 'SIGTERM'));
      case 'freeze':
        await this.#during(act, THAWED[act.process] ?? NOTHING, () =>
          this.#freeze(act.process, act.forMs),
        );
        return this.#ready(act.process, []);
      case 'kill_broker':
      case 'stop_broker':
      case 'freeze_broker':
        await this.#during(act, ['flight_until', 'writes'], () => this.#breakBroker(act));
        return this.#ready('all', []);
      case 'cut':
        await this.#during(act, ['flight_until', 'writes'], () =>
          this.victims.brokers.cut(act.topic, act.records, this.victims.onCut),
        );
        return this.#ready('all', []);
      case 'second_delivery':
        return this.#secondDelivery(act);
      case 'endpoint_down':
        await endpoints.mendedDown();
        await pause(act.forMs);
        return endpoints.mendedUp();
      case 'clock':
        return this.#during(act, NOTHING, () => this.#setClock(act));
      case 'pause':
        await this.#set(act.role, { paused: true });
        await pause(act.forMs);
        return this.#set(act.role, { paused: false });
      case 'send_now':
        return this.#ask('POST', `/destinations/${destinations[act.role]}/retry`);
      case 'cancel':
        return this.#ask('POST', `/destinations/${destinations[act.role]}/cancel`);
      case 'replay':
        return this.#ask('POST', '/replays', { destination: destinations[act.role] });
      case 'switch_off':
        return this.#set('leaving', { enabled: false });
      case 'url_gone':
        return this.#urlGone();
    }
  }

  async #during(act: Act, may: May, work: (struck: () => void) => Promise<void>): Promise<void> {
    const disturbance: Disturbance = {
      what: describeAct(act),
      at: Date.now(),
      until: Infinity,
      may,
    };
    this.disturbances.push(disturbance);
    await work(() => {
      disturbance.struckAt = Date.now();
    });
    disturbance.until = Date.now();
  }

  async #end(process: ProcessName, signal: NodeJS.Signals, struck?: () => void): Promise<void> {
    const pids = await this.#pids(process);
    for (const pid of pids) tell(pid, signal);
    struck?.();
    await this.#ready(process, pids);
  }

  async #freeze(process: ProcessName, forMs: number): Promise<void> {
    const pids = await this.#pids(process);
    for (const pid of pids) tell(pid, 'SIGSTOP');
    await pause(forMs);
    for (const pid of pids) tell(pid, 'SIGCONT');
  }

  async #breakBroker(
    act: Extract<Act, { kind: 'kill_broker' | 'stop_broker' | 'freeze_broker' }>,
  ): Promise<void> {
    const { brokers } = this.victims;
    if (act.kind === 'freeze_broker') await brokers.freeze(act.which, act.forMs);
    else await brokers.end(act.which, act.kind === 'kill_broker' ? 'SIGKILL' : 'SIGTERM');
  }

  async #secondDelivery(act: Extract<Act, { kind: 'second_delivery' }>): Promise<void> {
    const { system, env } = this.victims;
    const joins = { what: 'second delivery joins', at: Date.now(), until: Infinity, may: NOTHING };
    this.disturbances.push(joins);
    const second = await startSecondDelivery(system, env);
    joins.until = Date.now();
    await pause(act.forMs);
    const may: May = act.leaves === 'SIGKILL' ? ['flight'] : NOTHING;
    const leaves = {
      what: `second delivery leaves by ${act.leaves}`,
      at: Date.now(),
      until: Infinity,
      may,
    };
    this.disturbances.push(leaves);
    this.victims.note(leaves.what);
    await second.end(act.leaves);
    leaves.until = Date.now();
  }

  /** A process that starts meanwhile has a right clock. */
  async #setClock({ process, byMs, forMs }: Extract<Act, { kind: 'clock' }>): Promise<void> {
    const { clocks } = this.victims;
    const pids = await this.#pids(process);
    for (const pid of pids) clocks.set(pid, byMs);
    await pause(forMs);
    for (const pid of pids) clocks.setRight(pid);
  }

  #set(role: Role, change: object): Promise<void> {
    return this.#ask('PATCH', `/destinations/${this.victims.destinations[role]}`, change);
  }

  /** Asks control until it answers; it may refuse, for example because a job runs already. */
  async #ask(method: 'PATCH' | 'POST', path: string, body?: object): Promise<void> {
    const { system } = this.victims;
    await eventually(
      async () => {
        const { status } = await system.control(method, path, body);
        const isDone = status < 300 || (method === 'POST' && status === 409);
        if (!isDone) throw new Error(`control answered ${status}`);
      },
      { deadlineMs: RECOVERY_MS, everyMs: 500 },
    );
  }

  /** All processes know of it soon after control has switched the URL off. */
  async #urlGone(): Promise<void> {
    const { system, endpoints, destinations } = this.victims;
    endpoints.goneNow();
    await eventually(
      async () => {
        const { body } = await system.control('GET', `/destinations/${destinations.gone}`);
        const [webhook] = (body as { webhooks: { disabled: unknown }[] }).webhooks;
        if (!webhook?.disabled) throw new Error('the URL that is gone is still on');
      },
      { deadlineMs: RECOVERY_MS, everyMs: 500 },
    );
    await pause(KNOWN_WITHIN_MS);
    endpoints.invariants.switchedOff('gone');
  }

  /**
   * Returns the processes of a running service: another fault may have just ended it.
   * @param before processes that must be gone
   */
  #pids(name: ProcessName, before: number[] = []): Promise<number[]> {
    return eventually(
      async () => {
        const found = (await below(this.victims.system.pid)).filter(({ command }) =>
          runsService(name, command),
        );
        const pids = found.map(({ pid }) => pid);
        if (pids.length === 0 || pids.some((pid) => before.includes(pid))) {
          throw new Error(`${name} does not run`);
        }
        return pids;
      },
      { deadlineMs: RECOVERY_MS, everyMs: 250 },
    );
  }

  /**
   * Resolves when the services of a process are ready.
   * @param before processes that must be gone by then
   */
  async #ready(process: ProcessName, before: number[]): Promise<void> {
    const services = process === 'all' ? SERVICES : [process];
    for (const service of services) await this.#serviceReady(service, before);
  }

  async #serviceReady(service: ServiceName, before: number[]): Promise<void> {
    const { system } = this.victims;
    const port = healthPortOf(system.env, service);
    await eventually(
      async () => {
        await this.#pids(service, before);
        const answer = await fetch(`http://127.0.0.1:${port}/readyz`, {
          signal: AbortSignal.timeout(2_000),
        });
        if (!answer.ok) throw new Error(`${service} is not ready: ${await answer.text()}`);
      },
      { deadlineMs: RECOVERY_MS, everyMs: 250 },
    );
  }
}

/**
 * Returns the resource of a fault: faults with the same resource run one after the other, others in
 * parallel.
 */
function turnOf(act: Act): string {
  switch (act.kind) {
    case 'kill_broker':
    case 'stop_broker':
    case 'freeze_broker':
    case 'cut':
      return 'broker';
    case 'second_delivery':
    case 'endpoint_down':
    case 'clock':
    case 'pause':
      return act.kind;
    case 'kill':
    case 'stop':
    case 'freeze':
    case 'switch_off':
    case 'url_gone':
    case 'send_now':
    case 'cancel':
    case 'replay':
      return '';
  }
}

/** A process that another fault has ended needs no signal. */
function tell(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
