import { setTimeout as pause } from 'node:timers/promises';
import { type OutRecord } from '../../shared/kafka/port';
import { DUE, MESSAGES, tierTopic, WEBHOOKS } from '../../shared/kafka/topics';
import { eventually } from '../support/eventually';
import { aSource } from '../support/fakes';
import { configRecord, destinationAt, openProcesses, type Processes } from '../support/processes';
import { FORMAT, FORMAT_HEADER } from '../../shared/model/record-format';

/**
 * Several processes of each service start together, or one after another, on new topics: each gets
 * its share of the partitions, and every call is delivered. `CASES=all` starts two, three and five
 * of each, together, one and three seconds apart.
 */

const AT = '2026-11-21T08:00:00.000Z';
const PARTITIONS = 6;
const TIERS_MS = [1_000, 3_000];
const SERVICES = ['router', 'delivery', 'retry'] as const;
type Name = (typeof SERVICES)[number];
const READ: Record<Name, string[]> = {
  router: [MESSAGES],
  delivery: [WEBHOOKS, DUE],
  retry: TIERS_MS.map(tierTopic),
};
/** Enough that their shards cover every partition. */
const DESTINATIONS = 6;
const CALLS = 60;

let opened: Processes | undefined;
afterEach(async () => {
  await opened?.close();
  opened = undefined;
});

async function setUp(): Promise<Processes> {
  const retryDelays = TIERS_MS.map((ms) => `${ms}ms`).join();
  const processes = await openProcesses({
    prefix: 'together',
    partitions: PARTITIONS,
    retryDelays,
  });
  // One destination fails at first: its deliveries return through the tiers.
  processes.sink.on('/hook/0', (request, nth) => ({ status: nth <= 3 ? 503 : 200 }));
  return processes;
}

function configOf(processes: Processes): OutRecord[] {
  const entry = { format: FORMAT, version: 1, replaces: 0, at: AT };
  return [
    configRecord({ ...entry, kind: 'source', id: 'src_1', data: aSource() }, processes.env),
    ...Array.from({ length: DESTINATIONS }, (_, i) =>
      destinationAt(processes, `dst_${String(i)}`, `/hook/${String(i)}`),
    ),
  ];
}

function calls(name: string): OutRecord[] {
  return Array.from({ length: CALLS }, (_, i) => {
    const [userId, messageId] = [`user-${String(i)}`, `${name}-${String(i)}`];
    const message = { type: 'track', messageId, event: 'e', userId, timestamp: AT, receivedAt: AT };
    return {
      topic: MESSAGES,
      key: `src_1:${userId}`,
      value: JSON.stringify(message),
      headers: {
        format: FORMAT_HEADER,
        source: 'src_1',
        message: messageId,
        'accepted-at': String(Date.now()),
        traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`,
      },
    };
  });
}

/** Waits until every call of a name has arrived at every destination. */
function arrived({ sink }: Processes, name: string): Promise<void> {
  return eventually(
    () => {
      const found = new Set(
        sink.requests.map(({ path, body }) => {
          const { messageId = '' } = JSON.parse(String(body) || '{}') as { messageId?: string };
          return `${path} ${messageId}`;
        }),
      );
      const missing = Array.from({ length: DESTINATIONS }, (_, d) =>
        Array.from({ length: CALLS }, (_, i) => `/hook/${String(d)} ${name}-${String(i)}`),
      ).flat();
      expect(missing.filter((each) => !found.has(each)).slice(0, 5)).toEqual([]);
    },
    { deadlineMs: 120_000 },
  );
}

/**
 * Waits until every partition of each service has a reader and the shares of processes differ by
 * one at most.
 */
function shared({ readers }: Processes, members: number): Promise<void> {
  return eventually(
    async () => {
      for (const name of SERVICES) {
        const { view, unread } = await readers(name, READ[name]);
        expect([name, view?.members.length, unread]).toEqual([name, members, []]);
        const shares = view!.members.map(({ places }) => places.size / READ[name].length);
        expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(1);
      }
    },
    { deadlineMs: 120_000 },
  );
}

/** Two start together, and the third one joins them later. */
const ONE: [processes: number, gapMs: number][] = [[2, 0]];
const ALL: typeof ONE = [2, 3, 5].flatMap((processes) =>
  [0, 1_000, 3_000].map((gapMs): [number, number] => [processes, gapMs]),
);

test.each(process.env.CASES === 'all' ? ALL : ONE)(
  '%i routers, deliveries and retries %i ms apart share all partitions, also if one joins later',
  async (processes, gapMs) => {
    const on = (opened = await setUp());
    await on.producer.send(configOf(on));
    await Promise.all(
      SERVICES.flatMap((name) =>
        Array.from({ length: processes }, async (_, i) => {
          // The start times are part of the test, not a wait.
          await pause(i * gapMs);
          await on.start(name);
        }),
      ),
    );
    await on.producer.send(calls('first'));
    await Promise.all([arrived(on, 'first'), shared(on, processes)]);
    // Without load, one more process of each service gets its share.
    await Promise.all(SERVICES.map((name) => on.start(name)));
    await shared(on, processes + 1);
    await on.producer.send(calls('second'));
    await arrived(on, 'second');
  },
  600_000,
);
