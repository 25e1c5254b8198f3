import { type X509Certificate } from 'node:crypto';
import { EventEmitter } from 'node:events';
import { type Socket } from 'node:net';
import { ProfileStatus } from '../../../services/control/audiences/status';
import { SyncLog } from '../../../services/control/audiences/sync-log';
import { EventBuffer } from '../../../services/control/debugger/buffer';
import { Forgotten } from '../../../services/control/history/deletions';
import { Destinations } from '../../../services/delivery/destinations/destinations';
import { DisabledUrls } from '../../../services/delivery/destinations/disabled-urls';
import { CertificateWatch } from '../../../services/delivery/http/certificate-watch';
import { clientCredentials } from '../../../services/delivery/http/client-credentials';
import { Connections } from '../../../services/delivery/http/connections';
import { type SendRequest, type SendResult } from '../../../services/delivery/http/exchange';
import { ProxyGate } from '../../../services/delivery/http/proxy-gate';
import { ResponseBudget } from '../../../services/delivery/http/response-budget';
import { TlsFloods } from '../../../services/delivery/http/tls-floods';
import { TlsSessions } from '../../../services/delivery/http/tls-sessions';
import { Recoveries } from '../../../services/delivery/recoveries';
import { AuthorizingSender } from '../../../services/delivery/tokens/authorizing-sender';
import { Recalls } from '../../../services/retry/recalls';
import { FairShares } from '../../../shared/collections/fair-shares';
import { createEncryptor } from '../../../shared/config/encryption';
import { ConfigState } from '../../../shared/config/state';
import { type ConfigView } from '../../../shared/config/types';
import { type TailOptions } from '../../../shared/kafka/port';
import { recallRecord } from '../../../shared/kafka/topics';
import { configKey, type Destination } from '../../../shared/model/config';
import { FORMAT } from '../../../shared/model/record-format';
import { createLog } from '../../../shared/telemetry/log';
import { ProcessTime } from '../../../tools/simulator/process-time';
import { Agenda } from '../../../tools/simulator/virtual-clock';
import { at, START } from '../../support/events';
import { aDestination, anEndpoint, aRecord } from '../../support/factories';
import { recordingProducer } from '../../support/fakes';
import { memoryLog } from '../../support/memory-log';
import { virtualLanes } from '../../support/virtual-lanes';

/**
 * A process runs for months, and what it knows of destinations, URLs, sources and definitions comes
 * and goes. Each row makes and removes many of them: what remains of them does not grow with their
 * number. Some remember as many as a limit allows.
 */

const MANY = 10_000;
const DAY_MS = 86_400_000;
const LOG = createLog('test', 'silent');

type Keyed = Map<unknown, unknown> | Set<unknown>;

/** Makes something, and counts the entries of the maps and sets that it has made for itself. */
function counted<T>(make: () => T): { made: T; entries: () => number } {
  const all: Keyed[] = [];
  const real = { Map, Set };
  const noting = <C extends new (...args: never[]) => Keyed>(constructor: C): C =>
    new Proxy(constructor, {
      construct: (target, args, newTarget) => {
        const one = Reflect.construct(target, args, newTarget) as Keyed;
        all.push(one);
        return one;
      },
    });
  Object.assign(globalThis, { Map: noting(Map), Set: noting(Set) });
  try {
    const made = make();
    return { made, entries: () => all.reduce((sum, each) => sum + entriesIn(each), 0) };
  } finally {
    Object.assign(globalThis, real);
  }
}

function entriesIn(keyed: Keyed): number {
  let count = keyed.size;
  for (const value of keyed.values()) {
    if (value instanceof Map || value instanceof Set) count += entriesIn(value as Keyed);
  }
  return count;
}

/** Calls this for each of many, with a name and a number. */
function many(each: (name: string, i: number) => void, count = MANY): void {
  for (let i = 0; i < count; i++) each(`dst_${String(i)}`, i);
}

function urlOf(name: string) {
  return anEndpoint({
    hash: name,
    lane: `${name}/${name}`,
    destinationId: name,
    origin: `https://${name}.example`,
  });
}

/**
 * Each row returns how many entries there were with all, or without a limit would be, and how many
 * remain.
 */
type Row = [what: string, remain: number, run: () => Promise<number[]> | number[]];

const DELIVERY: Row[] = [
  [
    'the opened destinations',
    0,
    () => {
      const known = new Map<string, { version: number; data: Destination }>();
      const config = {
        destination: (id: string) => known.get(id),
        isUnreadable: () => false,
      } as unknown as ConfigView;
      const encryptor = createEncryptor([Buffer.alloc(32, 7)]);
      const { made, entries } = counted(() => new Destinations(config, encryptor, LOG));
      many((id) => {
        known.set(id, { version: 1, data: aDestination({ id }) });
        made.lookup(id);
      });
      const all = entries();
      known.clear();
      // The process looks up each destination that has changed.
      many((id) => made.lookup(id));
      return [all, entries()];
    },
  ],
  [
    'lanes, their circuits, and what was asked for at their recovery',
    1,
    async () => {
      const agenda = new Agenda();
      const time = new ProcessTime(agenda);
      const producer = recordingProducer();
      producer.send = () => Promise.resolve();
      const { made, entries } = counted(() => {
        const recoveries = new Recoveries({ producer, owns: () => true, time });
        const lanes = virtualLanes(time, {
          onCircuit: () => undefined,
          onDropped: (lane) => recoveries.stopProbes(lane),
        });
        return { recoveries, lanes };
      });
      many((name) => {
        const endpoint = urlOf(name);
        made.lanes.of(endpoint);
        made.recoveries.turned({ endpoint, state: 'closed', why: 'ok' });
        made.recoveries.turned({ endpoint, state: 'open', why: 'failed' });
      });
      const all = entries();
      await agenda.run(3_700_000);
      made.recoveries.turned({ endpoint: urlOf('another'), state: 'closed', why: 'ok' });
      made.lanes.stop();
      return [all, entries()];
    },
  ],
  [
    'URLs that are off',
    1,
    () => {
      const { made, entries } = counted(() => new DisabledUrls());
      many((name) => made.add(urlOf(name), 0));
      const all = entries();
      made.add(urlOf('another'), DAY_MS + 1);
      return [all, entries()];
    },
  ],
  [
    'endpoints that a proxy refuses',
    1,
    () => {
      let nowMs = 0;
      const { made, entries } = counted(() => new ProxyGate(() => nowMs));
      many((name) => made.denied(made.begin(`https://${name}.example`)));
      const all = entries();
      nowMs = 3_600_001;
      made.denied(made.begin('https://another.example'));
      return [all, entries()];
    },
  ],
  [
    'tokens, and whose failures were logged',
    1_001,
    () => {
      let nowMs = 0;
      let answer: (result: SendResult) => void = () => undefined;
      const inner = {
        send: (_: SendRequest, done: (result: SendResult) => void) => void (answer = done),
      };
      const { made, entries } = counted(
        () => new AuthorizingSender(inner, LOG, { now: () => nowMs }),
      );
      const send = (destination: string) => {
        const tokenOrigin = `https://${destination}.example`;
        const auth = { type: 'oauth2', clientId: 'shop', clientSecret: 's' } as const;
        const tokenUrl = `${tokenOrigin}/token`;
        const credentials = clientCredentials(
          { ...auth, tokenUrl, tokenOrigin },
          { destination, tlsId: undefined },
        );
        made.send({ credentials, headers: [] } as unknown as SendRequest, () => undefined);
        const error = { code: 'timeout' as const, phase: 'headers' as const, message: '' };
        answer({ ok: false, error, durationMs: 0 });
      };
      // Each new one looks at all others.
      many(send, 3_000);
      const all = entries();
      made.stop();
      nowMs = DAY_MS;
      send('another');
      return [all, entries()];
    },
  ],
  [
    'the budgets of responses',
    10_001,
    () => {
      const { made, entries } = counted(() => new ResponseBudget());
      const isStored = (destinationId: string) =>
        made.takes(
          {
            destinationId,
            isTest: false,
            classification: 'retry',
            bytes: 0,
          },
          0,
        );
      many(isStored, 2 * MANY);
      return [2 * MANY, entries()];
    },
  ],
  [
    'connections',
    0,
    () => {
      const { made, entries } = counted(() => new Connections(() => undefined, 2 * MANY));
      const open: ReturnType<Connections['open']>[] = [];
      many((name) => {
        const origin = `https://${name}.example`;
        const waiting = {
          phase: 'connect' as const,
          socket: undefined,
          opening: undefined,
          fail: () => undefined,
        };
        open.push(made.open({ origin }, waiting));
      });
      const all = entries();
      for (const connection of open) made.drop(connection);
      return [all, entries()];
    },
  ],
  [
    'looks at certificates',
    10_000,
    () => {
      const { made, entries } = counted(
        () =>
          new CertificateWatch(
            () => undefined,
            () => START,
          ),
      );
      const dates: unknown = { validFrom: at(0), validTo: at(86_400) };
      const certificate = dates as X509Certificate;
      const socket = { getPeerX509Certificate: () => certificate };
      many((name) => made.handshake(`https://${name}.example`, socket), 2 * MANY);
      return [2 * MANY, entries()];
    },
  ],
  [
    'servers that flooded below HTTP',
    1,
    () => {
      let nowMs = 0;
      const { made, entries } = counted(() => new TlsFloods(() => nowMs));
      const flood = (server: string) => {
        const socket: EventEmitter = new EventEmitter();
        const destroy = () => socket.emit('close');
        made.watch(Object.assign(socket, { destroy }) as unknown as Socket, server);
        for (let i = 0; i < 9; i++) socket.emit('session');
      };
      many(flood);
      const all = entries();
      nowMs = 10_001;
      flood('another');
      return [all, entries()];
    },
  ],
  [
    'TLS sessions',
    10_000,
    () => {
      const { made, entries } = counted(() => new TlsSessions());
      many((name) => made.set(name, Buffer.alloc(1), START), 2 * MANY);
      return [2 * MANY, entries()];
    },
  ],
];

const OTHERS: Row[] = [
  [
    'recalls, in a process of retry that owns no partition',
    0,
    () => {
      let nowMs = START;
      const unused = () => Promise.reject(new Error('Kafka was asked'));
      const { made, entries } = counted(
        () =>
          new Recalls({
            kafka: { read: unused, ranges: unused, committed: unused },
            producer: recordingProducer(),
            tiers: () => [],
            completeAt: () => 0,
            expectSoon: () => undefined,
            now: () => nowMs,
            steadyMs: () => 0,
            sleep: () => Promise.resolve(),
            keepMs: DAY_MS,
            log: LOG,
          }),
      );
      many((destination) => {
        const { value } = recallRecord({
          kind: 'recall',
          id: `rcv_${destination}`,
          action: 'recovered',
          where: { destination, reason: 'circuit_open' },
          keys: [`${destination}:0`],
        });
        made.onRecall(aRecord({ value: Buffer.from(value) }));
      });
      const all = entries();
      made.start();
      nowMs += 600_001;
      made.recheck();
      return [all, entries()];
    },
  ],
  [
    'sources and destinations of config',
    0,
    () => {
      const { made, entries } = counted(() => new ConfigState());
      const write = (id: string, version: number, data?: Destination) => {
        const about = { format: FORMAT, kind: 'destination', id, version, replaces: version - 1 };
        const key = configKey('destination', id);
        made.apply(key, JSON.stringify({ ...about, at: at(0), data }));
        return key;
      };
      many((id, i) => write(id, 1, aDestination({ id, sources: [`src_${String(i)}`] })));
      const all = entries();
      many((id) => made.apply(write(id, 2), null));
      // The kinds.
      return [all, entries() - 1];
    },
  ],
  [
    'owners of the memory of ingest',
    // Those that hold nothing go, each time that there are 4,096.
    MANY % 4_096,
    () => {
      const { made, entries } = counted(() => new FairShares(1e6));
      many((name) => made.give(made.of(name), 0));
      return [MANY, entries()];
    },
  ],
  [
    'events of the debugger, of users who are deleted',
    0,
    () => {
      const forgotten = new Forgotten();
      const { made, entries } = counted(() => new EventBuffer(undefined, forgotten));
      const value = Buffer.from(JSON.stringify({ type: 'track', userId: 'kim', event: 'e' }));
      many((source) => made.add(aRecord({ value, headers: { source } }), true));
      const all = entries();
      forgotten.add({ at: START + 1, users: ['kim'], anonymous: [], sources: null });
      made.purge();
      return [all, entries()];
    },
  ],
  [
    'what control knows of audiences',
    4,
    async () => {
      const definitions = new Set<string>();
      const config = {
        audience: (id: string) =>
          definitions.has(id) ? { data: { id, revision: 1, syncEveryMs: 60_000 } } : undefined,
        computedTrait: () => undefined,
      } as unknown as ConfigView;
      const memory = memoryLog();
      const { made, entries } = counted(() => {
        const status: ProfileStatus = new ProfileStatus((value) => syncs.add(value));
        const syncs: SyncLog = new SyncLog({
          history: { ask: () => Promise.resolve() as never },
          config,
          status: (definition, about) => status.of(definition, about),
          isCaughtUp: () => true,
          now: () => START,
          log: LOG,
        });
        return { status, syncs };
      });
      let read: TailOptions['onRecord'] = () => undefined;
      const tail = (options: TailOptions) => {
        read = options.onRecord;
        return memory.kafka.tail(options);
      };
      await made.status.open({ tail }, () => undefined);
      const report = (definition: string, content: object | null) =>
        read(
          aRecord({
            key: Buffer.from(`${definition}/0`),
            value: content && Buffer.from(JSON.stringify({ definition, ...content })),
          }),
        );
      const said = {
        partition: 0,
        partitions: 1,
        term: 1,
        at: at(0),
        revision: 1,
        phase: 'live',
        profiles: 1,
        full: 0,
        counted: 1,
        members: 1,
        told: 1,
        waiting: 0,
        upload: 0,
        lastSync: { at: at(0), looked: 1, told: 1 },
      };
      many((id) => {
        definitions.add(id);
        report(id, said);
      });
      const all = entries();
      many((id) => {
        definitions.delete(id);
        report(id, null);
      });
      await made.syncs.write();
      definitions.add('another');
      report('another', said);
      await made.syncs.write();
      await made.status.stop();
      return [all, entries()];
    },
  ],
];

test.each([...DELIVERY, ...OTHERS])('%s: %i remain', async (_, remain, run) => {
  const [all, left] = await run();
  expect(all).toBeGreaterThan(remain);
  // Exactly: what nobody counts would be none.
  expect(left).toBe(remain);
});
