import { randomBytes } from 'node:crypto';
import { configChecks } from '../../../cli/doctor/kafka';
import { createAuthenticator } from '../../../shared/config/authentication';
import { createEncryptor, newSystemEntry } from '../../../shared/config/encryption';
import { FORMAT } from '../../../shared/model/record-format';
import { loadSettings } from '../../../shared/runtime/settings';
import { memoryLog } from '../../support/memory-log';
import {
  clockCheck,
  destinationChecks,
  type Health,
  healthChecks,
  keyCheck,
  offsetChecks,
  todosOf,
  type Whereabouts,
  topicChecks,
} from '../../../cli/doctor/check';

/** The checks of `waypost doctor`, from findings to results. */

test.each([
  [0, 'ok'],
  [4_999, 'ok'],
  [-5_000, 'warn'],
  [119_000, 'warn'],
  [120_000, 'fail'],
  [-3_600_000, 'fail'],
])('doctor reports a clock that is %i ms ahead as %s', (aheadMs, result) => {
  expect(clockCheck('clock', aheadMs)).toMatchObject({ result });
});

const AT = 'http://127.0.0.1:9402';
const READY: Health = { status: 200, reasons: [], degraded: [] };
test.each<[string, Health | undefined, Whereabouts, string]>([
  ['ready', READY, 'here', 'ok'],
  [
    'not ready',
    { ...READY, status: 503, reasons: ['not yet in its consumer group'] },
    'here',
    'fail',
  ],
  ['degraded', { ...READY, degraded: ['the history is away'] }, 'here', 'warn'],
  ['missing on this machine', undefined, 'here', 'fail'],
  ['missing in its container', undefined, 'named', 'fail'],
])('doctor gives the right result for a service that is %s', (_, health, whereabouts, result) => {
  const [check] = healthChecks([{ service: 'router', at: AT, health }], whereabouts);
  expect(check).toMatchObject({ name: 'service router', result });
});

test('doctor misses a service where others respond, and none where no service responds', () => {
  const without = { service: 'router', at: AT, health: undefined };
  const checks = healthChecks([{ service: 'ingest', at: AT, health: READY }, without], 'elsewhere');
  expect(checks.map(({ name, result }) => [name, result])).toEqual([
    ['service ingest', 'ok'],
    ['service router', 'warn'],
  ]);
  expect(healthChecks([without, without], 'elsewhere')).toMatchObject([{ result: 'ok' }]);
});

const differs = (setting: string, has: string, wants: string) => ({
  topic: 't',
  setting,
  has,
  wants,
});
test.each<[string, { missing?: string[]; differences?: ReturnType<typeof differs>[] }, string[]]>([
  ['correct', {}, ['ok']],
  ['missing', { missing: ['messages'] }, ['fail']],
  ['short of partitions', { differences: [differs('partitions', '3', '12')] }, ['warn']],
  ['larger than configured', { differences: [differs('partitions', '24', '12')] }, ['ok']],
  [
    'split although they must have one partition',
    { differences: [differs('partitions', '2', '1')] },
    ['fail'],
  ],
  [
    'retained for longer than configured',
    { differences: [differs('retention.ms', '2', '1')] },
    ['warn'],
  ],
  [
    'compacted by mistake',
    { differences: [differs('cleanup.policy', 'compact', 'delete')] },
    ['fail'],
  ],
  [
    'wrong in two ways',
    { missing: ['config'], differences: [differs('segment.ms', '2', '1')] },
    ['fail', 'warn'],
  ],
])(
  'doctor gives the right results for topics that are %s',
  (_, { missing = [], differences = [] }, results) => {
    expect(topicChecks({ missing, differences, count: 9 }).map(({ result }) => result)).toEqual(
      results,
    );
  },
);

const EXPIRED = { group: 'waypost-delivery', topic: 'webhooks', partitions: [0, 3] };
test.each<[string, Partial<Parameters<typeof offsetChecks>[0]>, string[]]>([
  ['are committed, and kept for as long as records', {}, ['ok', 'ok']],
  ['are kept for longer than records', { retentionMinutes: 50_000 }, ['ok', 'ok']],
  ['are kept for a shorter time than records', { retentionMinutes: 10_080 }, ['ok', 'warn']],
  [
    'are kept for a time that cannot be read',
    { retentionMinutes: 'not authorized' },
    ['ok', 'warn'],
  ],
  [
    'have expired',
    { uncommitted: [EXPIRED, { ...EXPIRED, topic: 'webhooks.due' }] },
    ['warn', 'warn', 'ok'],
  ],
])('doctor gives the right results for offsets that %s', (_, change, results) => {
  const checks = offsetChecks({
    uncommitted: [],
    retentionMinutes: 43_200,
    longestMinutes: 43_200,
    ...change,
  });
  expect(checks.map(({ result }) => result)).toEqual(results);
});

test('the doctor names the group, partitions and command for offsets that have expired', () => {
  const [check] = offsetChecks({
    uncommitted: [EXPIRED],
    retentionMinutes: 43_200,
    longestMinutes: 43_200,
  });
  expect(check).toMatchObject({
    name: 'group waypost-delivery',
    found: expect.stringContaining('partitions 0, 3'),
  });
  expect(check!.todo).toContain(
    '--group waypost-delivery --topic webhooks:0,3 --reset-offsets --to-datetime',
  );
});

describe('doctor reads config', () => {
  const [KEY, OTHER] = [randomBytes(32), randomBytes(32)];
  const results = async (secretKey: Buffer, isForged = false) => {
    const memory = memoryLog();
    const value = JSON.stringify({
      format: FORMAT,
      kind: 'system',
      id: 'system',
      version: 1,
      replaces: 0,
      at: '2026-01-01T00:00:00.000Z',
      data: newSystemEntry(createEncryptor([KEY])),
    });
    const headers = createAuthenticator([KEY]).sign(value, {});
    memory.append([{ topic: 'config', key: 'system:system', value, headers }]);
    if (isForged) memory.append([{ topic: 'config', key: 'source:src_evil', value: '{}' }]);
    const settings = loadSettings({ WAYPOST_SECRET_KEY: secretKey.toString('base64') });
    const checks = await configChecks(memory.kafka, settings);
    return checks.map(({ name, result, found }) => [name, result, found]);
  };

  test('with the key of control', async () => {
    expect(await results(KEY)).toEqual([
      ['config', 'ok', expect.anything()],
      ['secret key', 'ok', expect.anything()],
    ]);
  });

  test('and fails with another key', async () => {
    expect(await results(OTHER)).toEqual([
      ['config', 'fail', expect.stringContaining('system:system')],
      ['secret key', 'fail', expect.stringContaining('WAYPOST_SECRET_KEY differs')],
    ]);
  });

  test('and fails at an entry of a stranger', async () => {
    expect(await results(KEY, true)).toEqual([
      ['config', 'fail', 'the last record is unreadable of: source:src_evil'],
      ['secret key', 'ok', expect.anything()],
    ]);
  });
});

test('doctor reports lost keys, open circuits and dead letters of destinations', () => {
  expect(keyCheck([], 2)).toMatchObject({ result: 'ok' });
  expect(keyCheck(['Hook'], 2)).toMatchObject({
    result: 'fail',
    found: expect.stringContaining('Hook'),
  });
  const fine = { name: 'Fine', state: 'healthy', lastError: null, dead: 0, circuits: [] };
  expect(destinationChecks([fine])).toMatchObject([{ result: 'ok' }]);
  const sick = {
    ...fine,
    name: 'Sick',
    state: 'failing',
    dead: 3,
    circuits: [{ origin: 'https://a.example', why: 'timeout' }],
  };
  expect(destinationChecks([sick])).toMatchObject([
    { result: 'warn', found: 'https://a.example does not answer in time' },
    {
      result: 'warn',
      found: '3 dead letters in 24 h',
      todo: expect.stringContaining('waypost replay all'),
    },
  ]);
});

test('doctor reports a destination that fails without an open circuit, with the last error', () => {
  const held = {
    name: 'Held',
    state: 'failing',
    lastError: { message: 'token: it answered 500' },
    dead: 0,
    circuits: [],
  };
  expect(destinationChecks([held])).toMatchObject([
    { result: 'warn', found: 'failing: token: it answered 500' },
  ]);
});

test('doctor says if it checked only the most urgent destinations', () => {
  const fine = { name: 'Fine', state: 'healthy', lastError: null, dead: 0, circuits: [] };
  expect(destinationChecks([fine], 1)).toMatchObject([{ found: '1, none with problems in 24 h' }]);
  expect(destinationChecks([fine], 2)).toMatchObject([
    { result: 'ok', found: 'none of the 1 most urgent of 2 with problems in 24 h' },
  ]);
  expect(destinationChecks([{ ...fine, dead: 3 }], 2)).toMatchObject([
    { found: '3 dead letters in 24 h' },
    {
      result: 'warn',
      name: 'destinations',
      found: 'only the 1 most urgent of 2 were checked',
      todo: expect.any(String),
    },
  ]);
});

test('doctor says each remedy once, with all checks that ask for it', () => {
  const sick = (name: string) => ({
    name,
    state: 'degraded',
    lastError: null,
    dead: 1,
    circuits: [],
  });
  expect(todosOf(destinationChecks([sick('A'), sick('B')]))).toEqual([
    {
      names: ['destination A', 'destination B'],
      todo: expect.stringContaining('waypost replay all'),
    },
  ]);
});
