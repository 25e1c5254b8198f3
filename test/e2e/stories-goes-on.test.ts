import { type Delivery } from '../../shared/api/operations';
import { defined } from '../../shared/collections/defined';
import { startHttpProxy } from '../support/egress-proxies';
import { eventually } from '../support/eventually';
import { type Connection, openStorySystem, type StorySystem } from '../support/story-system';

/**
 * Compares what the API says that a delivery waits for with what its receiver then saw: while the
 * receiver is in trouble, and after it has recovered.
 */

const MINUTES = 60_000;
let stage: StorySystem;
beforeAll(async () => {
  stage = await openStorySystem({
    env: { WAYPOST_RETRY_DELAYS: '3s,6s' },
    together: true,
  });
});
afterAll(() => stage.close());

type Row = Pick<
  Delivery,
  'id' | 'status' | 'reason' | 'goesOn' | 'nextAttemptAt' | 'attemptsMade' | 'expiresAt'
>;

/** A destination in one kind of trouble. */
interface Trouble {
  reason: string;
  path: string;
  connection: Connection;
  /** ends the trouble */
  end: () => Promise<void>;
}

const TOKEN = {
  body: '{"access_token":"planted-token","token_type":"Bearer","expires_in":3600}',
};

/** The receiver of each destination is named by its reason. */
const MAKE: Record<string, (path: string) => Promise<Omit<Trouble, 'reason' | 'path'>>> = {
  backoff: async (path) => {
    stage.sink.on(path, [{ status: 503 }, { status: 503 }, { status: 503 }, {}]);
    return { connection: await connect(path), end: nothing };
  },
  retry_after: async (path) => {
    const later = { status: 503, headers: { 'retry-after': '10' } };
    stage.sink.on(path, [later, later, {}]);
    return { connection: await connect(path), end: nothing };
  },
  rate_limited: async (path) => ({
    connection: await connect(path, { maxPerSecond: 1 }),
    end: nothing,
  }),
  circuit_open: async (path) => {
    let works = false;
    stage.sink.on(path, () => (works ? {} : { status: 500 }));
    return { connection: await connect(path), end: () => Promise.resolve(void (works = true)) };
  },
  token: async (path) => {
    let works = false;
    stage.sink.on('/token', () => (works ? TOKEN : { status: 500 }));
    const auth = {
      type: 'oauth2',
      tokenUrl: stage.sink.url('/token'),
      clientId: 'waypost',
      clientSecret: 'planted-secret',
    };
    const webhooks = [{ url: stage.sink.url(path), auth }];
    const connection = await stage.connect({ webhooks });
    return { connection, end: () => Promise.resolve(void (works = true)) };
  },
  proxy: async (path) => {
    const proxy = await startHttpProxy();
    proxies.push(proxy);
    proxy.behave('refuses');
    const connection = await connect(path, {
      proxy: `http://127.0.0.1:${String(proxy.port)}`,
    });
    const end = () => {
      proxy.behave('works');
      return Promise.resolve();
    };
    return { connection, end };
  },
  paused: async (path) => {
    const connection = await connect(path, { paused: true });
    return { connection, end: () => connection.change({ paused: false }) };
  },
};
/** Enough that each reason occurs. */
const SENT: Record<string, number> = {
  backoff: 1,
  retry_after: 1,
  rate_limited: 30,
  circuit_open: 40,
  token: 3,
  proxy: 20,
  paused: 3,
};
const proxies: { close(): Promise<void> }[] = [];
afterAll(() => Promise.all(proxies.map((proxy) => proxy.close())));

const nothing = () => Promise.resolve();
const connect = (path: string, fields: object = {}) =>
  stage.connect({ webhooks: [{ url: stage.sink.url(path) }], ...fields });

async function rowsOf({ destination }: Connection): Promise<Row[]> {
  const { controlUrl, adminToken } = stage.system;
  const response = await fetch(
    `${controlUrl}/api/v1/deliveries?destination=${destination.id}&limit=200`,
    { headers: defined({ authorization: `Bearer ${adminToken}` }) },
  );
  return ((await response.json()) as { data: Row[] }).data;
}

/** What one row said, and until when the trouble of its destination lasted. */
interface Sample {
  trouble: Trouble;
  row: Row & { goesOn: NonNullable<Row['goesOn']> };
}

function requestsOf({ path }: Trouble, id?: string) {
  const all = stage.sink.received(path);
  return id === undefined ? all : all.filter(({ headers }) => headers['webhook-id'] === id);
}

/** Compares one row with the requests that the receiver got. */
function compare({ trouble, row }: Sample, endedAt: number): void {
  const { when, at, lastCheck, nextCheckBy, givenUpAt } = row.goesOn;
  const own = requestsOf(trouble, row.id);
  const before = own[row.attemptsMade - 1]?.at ?? 0;
  const next = own[row.attemptsMade]?.at ?? NaN;
  expect(givenUpAt).toBe(row.expiresAt);
  expect(row.nextAttemptAt).toBe(when === 'at' ? at : null);
  expect(next).not.toBeNaN();
  if (at !== null) {
    // It never comes early.
    expect([before <= Date.parse(at), Date.parse(at) <= next]).toEqual([true, true]);
  }
  if (when === 'on_release') expect(next).toBeGreaterThanOrEqual(endedAt);
  if (when === 'on_answer') {
    expect(nextCheckBy).not.toBeNull();
    // One that probed the endpoint has another row afterwards.
    const isProbe = own.length > row.attemptsMade + 1;
    if (!isProbe) expect(next).toBeGreaterThanOrEqual(endedAt);
    if (lastCheck !== null && trouble.reason === 'circuit_open') {
      const [checkedAt, by] = [Date.parse(lastCheck.at), Date.parse(nextCheckBy!)];
      expect(requestsOf(trouble).some((request) => request.at <= checkedAt)).toBe(true);
      expect(
        requestsOf(trouble).some((request) => checkedAt < request.at && request.at <= by),
      ).toBe(true);
    }
  } else expect(nextCheckBy).toBeNull();
}

test(
  'every wait ends as the API says, before and after its endpoint recovers',
  async () => {
    const troubles: Trouble[] = [];
    for (const [reason, make] of Object.entries(MAKE)) {
      const path = `/goes-on/${reason}`;
      troubles.push({ reason, path, ...(await make(path)) });
    }
    const samples: Sample[] = [];
    const sample = async (trouble: Trouble) => {
      const rows = await rowsOf(trouble.connection);
      for (const row of rows) {
        const { goesOn } = row;
        if (goesOn) samples.push({ trouble, row: { ...row, goesOn } });
      }
      return rows;
    };
    const endedAt = new Map<Trouble, number>();
    await Promise.all(
      troubles.map(async (trouble) => {
        const { connection } = trouble;
        await Promise.all(Array.from({ length: SENT[trouble.reason]! }, () => connection.send()));
        const hasReason = ({ reason }: Row) => reason === trouble.reason;
        await eventually(async () => expect((await sample(trouble)).some(hasReason)).toBe(true), {
          deadlineMs: MINUTES,
        });
        // One more look at a trouble that lasts.
        if (trouble.reason === 'circuit_open') {
          await eventually(
            async () => {
              const rows = await sample(trouble);
              expect(rows.some(({ goesOn }) => goesOn?.lastCheck)).toBe(true);
            },
            { deadlineMs: MINUTES },
          );
        }
        endedAt.set(trouble, Date.now());
        await trouble.end();
        await eventually(
          async () => {
            const rows = await sample(trouble);
            expect(rows).toHaveLength(SENT[trouble.reason]!);
            expect(rows.filter(({ status }) => status !== 'delivered')).toEqual([]);
          },
          { deadlineMs: 2 * MINUTES },
        );
      }),
    );
    for (const each of samples) {
      try {
        compare(each, endedAt.get(each.trouble)!);
      } catch (error) {
        throw new Error(`${each.trouble.reason}: ${JSON.stringify(each.row)}`, { cause: error });
      }
    }
    const seen = new Set(samples.map(({ row }) => `${row.reason ?? 'none'} ${row.goesOn.when}`));
    expect([...seen]).toEqual(
      expect.arrayContaining([
        'backoff at',
        'retry_after not_before',
        'rate_limited not_before',
        'circuit_open on_answer',
        'backoff on_answer',
        'token on_answer',
        'proxy on_answer',
        'paused on_release',
      ]),
    );
    for (const trouble of troubles) {
      const rows = await rowsOf(trouble.connection);
      expect(rows.filter(({ goesOn, nextAttemptAt }) => goesOn ?? nextAttemptAt)).toEqual([]);
    }
  },
  6 * MINUTES,
);
