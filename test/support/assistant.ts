import { waypost } from './cli';
import { eventually } from './eventually';
import { aTrack } from './factories';
import { type StorySystem } from './story-system';

/**
 * Twenty tasks of a first hour, as an AI assistant does them with the tools of `waypost mcp`, on
 * the system of support.test.ts. The API alone shows whether a task is done.
 */

/** Calls a tool. @throws Error if the tool fails, or does not exist for this token */
export type Use = (
  tool: string,
  args?: object,
) => Promise<Record<string, never> & { data: never[] }>;

export interface Task {
  /** Prepares the task. */
  given?: () => Promise<unknown>;
  act: (use: Use) => Promise<unknown>;
  /** Throws unless the task is done. */
  shows: () => Promise<unknown>;
}

const HELLO = {
  protocolVersion: '2025-06-18',
  capabilities: {},
  clientInfo: { name: 'test', version: '1' },
};

interface Said {
  id?: number;
  error?: { message: string };
  result?: { isError?: boolean; content?: { text: string }[] };
}

export function assistantWith({ system }: StorySystem, token: string): Use {
  return async (tool, args = {}) => {
    const lines = [
      { jsonrpc: '2.0', id: 1, method: 'initialize', params: HELLO },
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: tool, arguments: args } },
    ];
    const { out, err } = await waypost(['mcp', '--allow-writes', '--allow-admin'], {
      env: { WAYPOST_URL: system.controlUrl, WAYPOST_TOKEN: token },
      input: lines.map((line) => `${JSON.stringify(line)}\n`).join(''),
    });
    const said = out.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Said]));
    const answer = said.find(({ id }) => id === 2);
    const text = answer?.result?.content?.[0]?.text;
    if (text === undefined || answer?.result?.isError) {
      throw new Error(`${tool}: ${text ?? answer?.error?.message ?? err}`);
    }
    const data = text.split('\n').slice(1, -1).join('\n');
    return (data.startsWith('{') ? JSON.parse(data) : { text: data }) as Awaited<ReturnType<Use>>;
  };
}

/** @param gone a path that rejects everything until a task mends it */
export function firstHour(
  { system, sink, settled }: StorySystem,
  gone: string,
): Record<string, Task> {
  const read = async (path: string) => (await system.control('GET', path)).body;
  const named = async (kind: string, name: string) =>
    (
      (await read(`/${kind}?limit=200`)).data as {
        id: string;
        name: string;
        [field: string]: unknown;
      }[]
    ).find((entry) => entry.name === name);
  const has = (kind: string, name: string, fields: object) => async () =>
    expect(await named(kind, name)).toMatchObject(fields);
  const update = (body: object) => (use: Use) => use('update_destination', { id: 'Orders', body });
  const dead = async () => {
    const { id } = (await named('destinations', 'Orders'))!;
    const { data } = await read(`/deliveries?destination=${id}&status=dead`);
    return (data as { test: boolean }[]).filter(({ test }) => !test);
  };
  const orders = async (...users: string[]) => {
    await settled();
    const { writeKey } = (await named('sources', 'Assistant shop'))!;
    for (const userId of users) await system.send(String(writeKey), 'track', aTrack({ userId }));
    await eventually(async () => expect(await dead()).toHaveLength(users.length), {
      deadlineMs: 90_000,
    });
    sink.on(gone, { status: 200 });
  };
  return {
    'create a source': {
      act: (use) => use('create_source', { body: { name: 'Assistant shop' } }),
      shows: has('sources', 'Assistant shop', { enabled: true }),
    },
    'create a destination that is off': {
      act: async (use) =>
        use('create_destination', {
          body: {
            name: 'Orders',
            type: 'webhooks',
            sharedSecret: 'a secret of the assistant',
            sources: [(await named('sources', 'Assistant shop'))?.id ?? 'src_none'],
            webhooks: [{ url: sink.url(gone), headers: {} }],
          },
        }),
      shows: has('destinations', 'Orders', { enabled: false, hasSharedSecret: true }),
    },
    'deliver only tracks of completed orders': {
      act: update({ types: ['track'], filter: 'event == "Order Completed"' }),
      shows: has('destinations', 'Orders', {
        types: ['track'],
        filter: 'event == "Order Completed"',
      }),
    },
    'limit the rate': {
      act: update({ maxPerSecond: 50 }),
      shows: has('destinations', 'Orders', { maxPerSecond: 50 }),
    },
    'switch the destination on': {
      act: update({ enabled: true }),
      shows: has('destinations', 'Orders', { enabled: true }),
    },
    'send a test': {
      act: (use) => use('test_destination', { id: 'Orders', body: { event: 'Order Completed' } }),
      shows: async () => {
        const { id } = (await named('destinations', 'Orders'))!;
        await eventually(async () => {
          const { data } = await read(`/deliveries?destination=${id}`);
          expect(data).toEqual([expect.objectContaining({ test: true, lastStatusCode: 422 })]);
        });
      },
    },
    'pause the destination': {
      act: update({ paused: true }),
      shows: has('destinations', 'Orders', { paused: true }),
    },
    'resume the destination': {
      act: update({ paused: false }),
      shows: has('destinations', 'Orders', { paused: false }),
    },
    'rotate the secret of the destination': {
      act: (use) => use('rotate_destination_secret', { id: 'Orders', body: {} }),
      shows: () =>
        eventually(async () => {
          const { id } = (await named('destinations', 'Orders'))!;
          const [last] = (await read(`/audit?entry=${id}`)).data as {
            changes: { field: string }[];
          }[];
          expect(last?.changes.map(({ field }) => field)).toContain('sharedSecret');
        }),
    },
    'find the delivery of a customer that failed, and replay it': {
      given: () => orders('u-assistant', 'u-2', 'u-3'),
      act: async (use) => {
        const { data } = await use('list_deliveries', {
          destination: 'Orders',
          user: 'u-assistant',
          code: '422',
        });
        const [first] = data as { id: string }[];
        return use('replay_delivery', { id: first?.id ?? 'dlv_none' });
      },
      shows: () => eventually(async () => expect(await dead()).toHaveLength(2)),
    },
    'replay everything that is dead': {
      act: async (use) =>
        use('create_replay', {
          body: { destination: (await named('destinations', 'Orders'))?.id ?? 'dst_none' },
        }),
      shows: () => eventually(async () => expect(await dead()).toEqual([]), { deadlineMs: 90_000 }),
    },
    'block an event at the source': {
      act: (use) =>
        use('update_source', { id: 'Assistant shop', body: { blockedEvents: ['Cart Viewed'] } }),
      shows: has('sources', 'Assistant shop', { blockedEvents: ['Cart Viewed'] }),
    },
    'rotate the write key with an overlap': {
      act: (use) => use('rotate_source_key', { id: 'Assistant shop', body: { overlap: '2h' } }),
      shows: has('sources', 'Assistant shop', {
        oldWriteKeys: [expect.objectContaining({ key: expect.any(String) })],
      }),
    },
    'send alerts to a webhook': {
      act: (use) =>
        use('update_alerts', {
          body: { webhooks: [{ url: sink.url('/alerts'), headers: {} }], failingFor: '5m' },
        }),
      shows: async () =>
        expect(await read('/alerts')).toMatchObject({ failingFor: '5m', webhooks: [{}] }),
    },
    'acknowledge a notice': {
      // The dead letters cause it.
      given: () =>
        eventually(async () => expect((await read('/notices')).data).not.toEqual([]), {
          deadlineMs: 90_000,
        }),
      act: async (use) => {
        const { data } = await read('/notices?acknowledged=false');
        const [first] = data as { id: string }[];
        return use('acknowledge_notice', { id: first?.id ?? 'ntc_none' });
      },
      shows: async () => expect((await read('/notices?acknowledged=true')).data).toHaveLength(1),
    },
    'create an audience': {
      act: (use) =>
        use('create_audience', {
          body: {
            name: 'Loyal',
            condition: 'count("Order Completed", duration("720h")) >= 3',
            destinations: [],
          },
        }),
      shows: has('audiences', 'Loyal', { key: 'loyal' }),
    },
    'create a list and upload its members': {
      act: async (use) => {
        await use('create_audience', { body: { name: 'Invited', destinations: [] } });
        return use('replace_audience_members', { id: 'Invited', lines: ['ann', 'bob'] });
      },
      shows: () =>
        eventually(
          async () => {
            const { id } = (await named('audiences', 'Invited'))!;
            expect((await read(`/audiences/${id}/members`)).data).toHaveLength(2);
          },
          { deadlineMs: 120_000 },
        ),
    },
    'create a token that expires': {
      act: (use) =>
        use('create_token', {
          body: { name: 'Dashboard', role: 'read_only', expiresAt: '2100-01-31T00:00:00Z' },
        }),
      shows: has('tokens', 'Dashboard', {
        role: 'read_only',
        expiresAt: '2100-01-31T00:00:00.000Z',
      }),
    },
    'delete what is stored of a user': {
      act: (use) => use('create_deletion', { body: { userIds: ['u-forgotten'] } }),
      shows: async () =>
        expect((await read('/deletions')).data).toMatchObject([{ userIds: ['u-forgotten'] }]),
    },
    'delete the destination': {
      act: (use) => use('delete_destination', { id: 'Orders' }),
      shows: async () => expect(await named('destinations', 'Orders')).toBeUndefined(),
    },
  };
}

/**
 * Returns what an assistant could have changed: entries with their versions, and facts that only
 * become more.
 */
export async function stateOf({
  system,
}: StorySystem): Promise<{ entries: string[]; facts: string[] }> {
  const rows = async (path: string, of: (row: Record<string, unknown>) => unknown) => {
    const { body } = await system.control('GET', `/${path}?limit=200`);
    return (body.data as Record<string, unknown>[]).map(
      (row) => `${String(row.id)} ${JSON.stringify(of(row))}`,
    );
  };
  const kinds = [
    'sources',
    'destinations',
    'audiences',
    'computed-traits',
    'tokens',
    'deletions',
    'replays',
  ];
  const entries = await Promise.all(
    kinds.map((path) => rows(path, ({ version = null }) => version)),
  );
  const { body: alerts } = await system.control('GET', '/alerts');
  return {
    entries: [...entries.flat(), `alerts ${String(alerts.version)}`],
    facts: [
      ...(await rows('notices', ({ acknowledged }) => acknowledged)),
      ...(await rows('deliveries', ({ replay }) => replay)),
    ],
  };
}
