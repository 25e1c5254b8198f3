import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import pino from 'pino';
import {
  type Authenticator,
  createAuthenticator,
  NOTE_HEADER,
} from '../../../shared/config/authentication';
import { markNewSystem } from '../../../services/control/config/config-entries';
import { createEncryptor, keyProblem, newSystemEntry } from '../../../shared/config/encryption';
import { openConfig } from '../../../shared/config/reader';
import { reencryptConfig } from '../../../shared/config/reencrypt';
import { openWriter } from '../../../shared/config/writer';
import { type InRecord, type OutRecord } from '../../../shared/kafka/port';
import { configKey, type Kind, type Source, type Token } from '../../../shared/model/config';
import { FORMAT } from '../../../shared/model/record-format';
import { eventually } from '../../support/eventually';
import { aDestination } from '../../support/factories';
import { aSource } from '../../support/fakes';
import { memoryLog, type MemoryLog } from '../../support/memory-log';

/** What who may write the topic `config`, and has no key, can and cannot do. */

const AT = '2026-01-01T00:00:00.000Z';
const [KEY, NEWER] = [randomBytes(32), randomBytes(32)];
const OURS = createAuthenticator([KEY]);

const aToken = (id: string, over: Partial<Token> = {}): Token => ({
  id,
  name: id,
  role: 'admin',
  hash: `hash of ${id}`,
  createdAt: AT,
  updatedAt: AT,
  ...over,
});

/** An authentication that names a key, for which nobody can compute it. */
const MADE_UP = { authentication: 'AAAAAAAA.x' };

/** Opens `config` as a process does that has these keys; without keys, as one that has none. */
async function open(memory: MemoryLog, keys: readonly Buffer[] = [KEY]) {
  const logged: string[] = [];
  const log = pino({}, { write: (line) => logged.push(line) });
  const authenticator = keys.length > 0 ? createAuthenticator(keys) : undefined;
  const onFatal = (error: unknown) => {
    throw error;
  };
  const config = await openConfig(memory.kafka, { name: 'test', authenticator, log, onFatal });
  return { config, logged };
}

/** Opens `config` and its writer, as control does. */
async function openControl(memory: MemoryLog, keys: readonly Buffer[] = [KEY]) {
  const { config, logged } = await open(memory, keys);
  const producer = await memory.kafka.producer({ maxPendingBytes: 1e6, deliveryTimeoutMs: 1_000 });
  const authenticator = createAuthenticator(keys);
  const log = pino({ level: 'silent' });
  const now = () => new Date(AT);
  return {
    config,
    logged,
    writer: openWriter({ config, producer, authenticator, log, now }),
  };
}

/** Returns a record as a stranger appends it. */
function record(
  kind: Kind,
  data: { id: string } | undefined,
  {
    id = data?.id ?? '',
    version = 1,
    by,
  }: { id?: string; version?: number; by?: Authenticator } = {},
) {
  const entry = { format: FORMAT, kind, id, version, replaces: version - 1, at: AT, data };
  const value = JSON.stringify(entry);
  return { topic: 'config', key: configKey(kind, id), value, headers: by?.sign(value, {}) ?? {} };
}

/** Returns a record of the topic as it may be appended again. */
function asWritten({ topic, key, value, headers }: InRecord): OutRecord {
  return {
    topic,
    key: String(key),
    value: String(value),
    headers: headers as Record<string, string>,
  };
}

test('a token that a stranger appends to config gives no access, and is logged', async () => {
  const memory = memoryLog();
  const { config, logged } = await open(memory);
  memory.append([record('token', aToken('tok_attacker'))]);
  await config.refresh(1_000);
  expect([config.token('tok_attacker'), config.list('token')]).toEqual([undefined, []]);
  expect(config.isUnreadable('token', 'tok_attacker')).toBe(true);
  expect(logged.join('')).toMatch(/token:tok_attacker.*it has no authentication of control/);
});

describe('a record is refused', () => {
  const signed = record('token', aToken('tok_1'), { by: OURS });
  const [id, mac] = signed.headers.authentication!.split('.') as [string, string];
  const with_ = (over: object) => ({ ...signed, ...over });
  const WRONG = /no key of WAYPOST_SECRET_KEY authenticates it/;
  test.each([
    ['without an authentication', with_({ headers: {} }), /has no authentication/],
    ['with another role', with_({ value: signed.value.replace('admin', 'operator') }), WRONG],
    [
      'as a later version',
      with_({ value: signed.value.replace('1,"replaces":0', '2,"replaces":1') }),
      WRONG,
    ],
    ['with another note', with_({ headers: { ...signed.headers, [NOTE_HEADER]: '{}' } }), WRONG],
    ['with half of an authentication', with_({ headers: { authentication: id } }), WRONG],
    [
      'with a truncated authentication',
      with_({ headers: { authentication: `${id}.${mac.slice(0, 8)}` } }),
      WRONG,
    ],
    [
      'by another key under the same name',
      with_({ headers: createAuthenticator([NEWER]).sign(signed.value, {}) }),
      WRONG,
    ],
    ['with the name of a key that nobody has', with_({ headers: MADE_UP }), WRONG],
    [
      'with many wrong authentications',
      with_({ headers: { authentication: `${id},.,${id}.${id},${','.repeat(1_000)}` } }),
      WRONG,
    ],
  ])('%s', async (_, given, reason) => {
    const memory = memoryLog();
    const { config, logged } = await open(memory);
    memory.append([given]);
    await config.refresh(1_000);
    expect(config.list('token')).toEqual([]);
    expect(logged.join('')).toMatch(reason);
  });

  test('but not as control wrote it', async () => {
    const memory = memoryLog();
    memory.append([signed]);
    const { config, logged } = await open(memory);
    expect([config.token('tok_1')?.data.role, logged]).toEqual(['admin', []]);
  });
});

test.each([999, 1])(
  'a stranger’s record of format %i ends no service that has the key, and reseal deletes it',
  async (format) => {
    const memory = memoryLog();
    const control = await openControl(memory);
    await control.writer.write('token', 'tok_1', aToken('tok_1'), { replaces: 0 });
    const value = JSON.stringify({ format });
    const keys = ['token:tok_1', 'source:src_evil', 'rule:r', 'source:', 'no kind'];
    memory.append(keys.map((key) => ({ topic: 'config', key, value })));
    const { config, writer } = await openControl(memory);
    expect(config.token('tok_1')).toBeDefined();
    const encryptor = createEncryptor([KEY]);
    const report = await reencryptConfig({ config, writer, encryptor, dropUnauthenticated: true });
    expect(report.dropped).toEqual(keys.slice(1));
    await config.refresh(1_000);
    expect([config.refused(), config.isUnreadable('token', 'tok_1')]).toEqual([[], false]);
    const reopened = await open(memoryLog(memory.compacted('config')), []);
    expect(reopened.config.list('token')).toHaveLength(1);
  },
);

test('an entry a stranger overwrote is restored, also for services without the key', async () => {
  const memory = memoryLog();
  const control = await openControl(memory);
  const router = await open(memory, []);
  const ours = aDestination({ sources: ['src_1'] });
  await control.writer.write('destination', 'dst_1', ours, { replaces: 0 });
  const theirs = aDestination({ sources: ['src_2'], proxy: { address: 'http://evil.example:1' } });
  memory.append([record('destination', theirs, { version: 2 })]);
  await eventually(async () => {
    await Promise.all([router.config.refresh(1_000), control.config.refresh(1_000)]);
    expect(router.config.destination('dst_1')).toEqual({ version: 3, data: ours });
    expect(control.config.destination('dst_1')).toEqual({ version: 3, data: ours });
  });
  expect(control.config.isUnreadable('destination', 'dst_1')).toBe(false);
  // Later readers, after compaction, and later changes.
  const reopened = memoryLog(memory.compacted('config'));
  expect((await open(reopened)).config.destination('dst_1')?.data).toEqual(ours);
  const renamed = { ...ours, name: 'Renamed' };
  await control.writer.write('destination', 'dst_1', renamed, { replaces: 3 });
  await router.config.refresh(1_000);
  expect(router.config.destination('dst_1')?.data.name).toBe('Renamed');
});

test('the name of a key that nobody has makes no forged record permanent', async () => {
  const memory = memoryLog();
  const control = await openControl(memory);
  const ingest = await open(memory, []);
  const ours = aSource({ id: 'src_a', writeKeys: [] });
  await control.writer.write('source', 'src_a', ours, { replaces: 0 });
  const theirs: Source = { ...ours, name: 'theirs' };
  memory.append([
    {
      ...record('source', theirs, { version: 2 }),
      headers: MADE_UP,
    },
    { ...record('source', aSource({ id: 'src_evil', writeKeys: [] })), headers: MADE_UP },
  ]);
  await eventually(async () => {
    await Promise.all([ingest.config.refresh(1_000), control.config.refresh(1_000)]);
    expect(ingest.config.source('src_a')).toEqual({ version: 3, data: ours });
  });
  expect(control.config.refused()).toEqual(['source:src_evil']);
  const { config, writer } = control;
  const encryptor = createEncryptor([KEY]);
  await reencryptConfig({ config, writer, encryptor, dropUnauthenticated: true });
  const reopened = memoryLog(memory.compacted('config'));
  for (const keys of [[], [KEY]]) {
    const reader = await open(reopened, keys);
    expect(reader.config.list('source').map(({ data }) => data)).toEqual([ours]);
  }
});

test('a stranger cannot take the last version, after which no record could follow', async () => {
  const memory = memoryLog();
  const control = await openControl(memory);
  const router = await open(memory, []);
  const ours = aDestination();
  await control.writer.write('destination', 'dst_1', ours, { replaces: 0 });
  const last = record('destination', aDestination({ name: 'theirs' }), { version: 2 });
  const value = last.value.replace('"version":2', `"version":${Number.MAX_SAFE_INTEGER}`);
  memory.append([{ ...last, value }]);
  await eventually(async () => {
    await Promise.all([router.config.refresh(1_000), control.config.refresh(1_000)]);
    expect(control.config.isUnreadable('destination', 'dst_1')).toBe(false);
    expect(router.config.destination('dst_1')).toEqual({ version: 2, data: ours });
  });
});

const HIGHEST = 2 ** 40;
const tombstone = { topic: 'config', key: 'source:src_a', value: null };

type Forge = (theirs: Source, v: number) => Parameters<MemoryLog['append']>[0];

/** A forged source of this version, where the deletion of ours left no trace. */
const afterDeletion =
  (version: number): Forge =>
  (theirs, v) => [
    record('source', undefined, { id: 'src_a', version: v + 1 }),
    tombstone,
    record('source', theirs, { version }),
  ];

/** Each ends with a forged source that services without the key believe. */
const FORGERIES: [string, Forge][] = [
  ['the next version', (theirs, v) => [record('source', theirs, { version: v + 1 })]],
  ['a far version', (theirs) => [record('source', theirs, { version: 900 })]],
  ['the last version', (theirs) => [record('source', theirs, { version: HIGHEST })]],
  ['a deletion, its tombstone and a far version', afterDeletion(900)],
  [
    'a deletion of the last number',
    () => [record('source', undefined, { id: 'src_a', version: Number.MAX_SAFE_INTEGER })],
  ],
  ['a deletion, its tombstone and an early version', afterDeletion(1)],
  [
    'an unreadable record and a far version',
    (theirs) => [
      { ...tombstone, value: '{' },
      tombstone,
      record('source', theirs, { version: 900 }),
    ],
  ],
];

describe('services without the key believe control again after a stranger has written', () => {
  test.each(FORGERIES)('%s', async (_, forge) => {
    const memory = memoryLog();
    const control = await openControl(memory);
    const ingest = await open(memory, []);
    const ours = aSource({ id: 'src_a', writeKeys: [] });
    const theirs: Source = { ...ours, name: 'theirs' };
    for (let replaces = 0; replaces < 5; replaces++) {
      await control.writer.write('source', 'src_a', ours, { replaces });
    }
    // Repeated: no number of forgeries uses up the versions.
    for (let round = 0; round < 3; round++) {
      memory.append(forge(theirs, control.config.source('src_a')!.version));
      await eventually(async () => {
        await Promise.all([ingest.config.refresh(1_000), control.config.refresh(1_000)]);
        expect(control.config.unsettled()).toEqual([]);
        expect(ingest.config.source('src_a')?.data).toEqual(ours);
      });
    }
    const reopened = await open(memoryLog(memory.compacted('config')));
    expect(reopened.config.source('src_a')).toEqual(control.config.source('src_a'));
    const renamed = { ...ours, name: 'Renamed' };
    const { version } = control.config.source('src_a')!;
    expect(version).toBeLessThan(HIGHEST / 2);
    await control.writer.write('source', 'src_a', renamed, { replaces: version });
    await ingest.config.refresh(1_000);
    expect(ingest.config.source('src_a')?.data).toEqual(renamed);
  });

  test('whatever records they were', async () => {
    const version = fc.constantFrom(1, 2, 3, 6, 7, 900, 901, HIGHEST, Number.MAX_SAFE_INTEGER);
    const act = fc.constantFrom('put', 'delete', 'tombstone', 'unreadable', 'repeat');
    const forgeries = fc.array(fc.record({ version, act }), { maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(forgeries, async (given) => {
        const memory = memoryLog();
        const control = await openControl(memory);
        const ingest = await open(memory, []);
        const ours = aSource({ id: 'src_a', writeKeys: [] });
        for (let replaces = 0; replaces < 5; replaces++) {
          await control.writer.write('source', 'src_a', ours, { replaces });
        }
        const [first] = memory.records('config');
        const theirs: Source = { ...ours, name: 'theirs' };
        const forged = given.map((each) => {
          if (each.act === 'put') return record('source', theirs, { version: each.version });
          if (each.act === 'tombstone') return tombstone;
          if (each.act === 'unreadable') return { ...tombstone, value: '{' };
          if (each.act === 'repeat') return asWritten(first!);
          return record('source', undefined, { id: 'src_a', version: each.version });
        });
        for (const each of forged) memory.append([each]);
        await eventually(async () => {
          await Promise.all([ingest.config.refresh(1_000), control.config.refresh(1_000)]);
          expect(control.config.unsettled()).toEqual([]);
        });
        await ingest.config.refresh(1_000);
        expect(ingest.config.source('src_a')).toEqual(control.config.source('src_a'));
        expect(control.config.source('src_a')?.data).toEqual(ours);
        await Promise.all([ingest.config.stop(), control.config.stop()]);
      }),
      { numRuns: 50 },
    );
  });

  test('a change that overlaps with a forged one is in force everywhere', async () => {
    const memory = memoryLog();
    const control = await openControl(memory);
    const ingest = await open(memory, []);
    const ours = aSource({ id: 'src_a', writeKeys: [] });
    await control.writer.write('source', 'src_a', ours, { replaces: 0 });
    const theirs: Source = { ...ours, name: 'theirs' };
    const forged = record('source', theirs, { version: 2 });
    const renamed: Source = { ...ours, name: 'Renamed' };
    memory.append([forged, record('source', renamed, { version: 2, by: OURS })]);
    await eventually(async () => {
      await Promise.all([ingest.config.refresh(1_000), control.config.refresh(1_000)]);
      expect(ingest.config.source('src_a')).toEqual({ version: 3, data: renamed });
    });
    expect(control.config.source('src_a')).toEqual({ version: 3, data: renamed });
  });
});

test.each<[string, number, boolean]>([
  ['and its tombstone', 1, true],
  ['of a far version', 900, false],
  ['of the last version', HIGHEST, true],
])(
  'an entry that a stranger added, %s, can be deleted everywhere',
  async (_, version, isBuried) => {
    const memory = memoryLog();
    const { config, writer } = await openControl(memory);
    const ingest = await open(memory, []);
    const key = 'source:src_evil';
    memory.append([record('source', aSource({ id: 'src_evil', writeKeys: [] }), { version })]);
    if (isBuried) memory.append([{ ...tombstone, key }]);
    await Promise.all([ingest.config.refresh(1_000), config.refresh(1_000)]);
    expect(ingest.config.source('src_evil')).toBeDefined();
    expect([config.refused(), config.isUnreadable('source', 'src_evil')]).toEqual([[key], true]);
    const encryptor = createEncryptor([KEY]);
    const report = await reencryptConfig({ config, writer, encryptor, dropUnauthenticated: true });
    expect([report.dropped, report.notDropped]).toEqual([[key], []]);
    await Promise.all([ingest.config.refresh(1_000), config.refresh(1_000)]);
    expect(ingest.config.source('src_evil')).toBeUndefined();
    expect([config.refused(), config.unsettled()]).toEqual([[], []]);
  },
);

test('two control processes repair a forged entry of the last version and then rest', async () => {
  const memory = memoryLog();
  const [a, b] = [await openControl(memory), await openControl(memory)];
  const ingest = await open(memory, []);
  const ours = aSource({ id: 'src_a', writeKeys: [] });
  await a.writer.write('source', 'src_a', ours, { replaces: 0 });
  const theirs: Source = { ...ours, name: 'theirs' };
  memory.append([record('source', theirs, { version: HIGHEST })]);
  await eventually(async () => {
    await Promise.all([a, b, ingest].map(({ config }) => config.refresh(1_000)));
    expect([a.config.unsettled(), b.config.unsettled()]).toEqual([[], []]);
    expect(ingest.config.source('src_a')).toEqual(a.config.source('src_a'));
    expect(b.config.source('src_a')).toEqual(a.config.source('src_a'));
  });
  expect(a.config.source('src_a')?.data).toEqual(ours);
});

test('a stranger cannot delete an entry', async () => {
  const memory = memoryLog();
  const control = await openControl(memory);
  await control.writer.write('token', 'tok_1', aToken('tok_1'), { replaces: 0 });
  memory.append([
    record('token', undefined, { id: 'tok_1', version: 2 }),
    { topic: 'config', key: 'token:tok_1', value: null },
  ]);
  await control.config.refresh(1_000);
  expect(control.config.token('tok_1')?.data.role).toBe('admin');
});

describe('an older record of control, which a stranger appends again', () => {
  async function withDeletedToken() {
    const memory = memoryLog();
    const control = await openControl(memory);
    await control.writer.write('token', 'tok_1', aToken('tok_1'), { replaces: 0 });
    const [first] = memory.records('config');
    await control.writer.write('token', 'tok_1', undefined, { replaces: 1 });
    return { memory, control, again: asWritten(first!) };
  }

  test('does not bring back a deleted token, also after a tombstone', async () => {
    const { memory, control, again } = await withDeletedToken();
    memory.append([{ topic: 'config', key: 'token:tok_1', value: null }, again]);
    await control.config.refresh(1_000);
    expect(control.config.list('token')).toEqual([]);
    expect((await open(memory)).config.list('token')).toEqual([]);
  });

  test('does not bring it back after a restart on the compacted topic', async () => {
    const { memory, control, again } = await withDeletedToken();
    memory.append([again]);
    const isRepaired = () => {
      const [last] = memory.compacted('config');
      expect(JSON.parse(last!.value!.toString())).not.toHaveProperty('data');
    };
    await eventually(async () => {
      await control.config.refresh(1_000);
      isRepaired();
    });
    const compacted = memoryLog(memory.compacted('config'));
    compacted.append([again]);
    expect((await open(compacted)).config.list('token')).toEqual([]);
  });

  test('does not give a token its former role again', async () => {
    const memory = memoryLog();
    const control = await openControl(memory);
    await control.writer.write('token', 'tok_1', aToken('tok_1'), { replaces: 0 });
    const [first] = memory.records('config');
    const reader = aToken('tok_1', { role: 'read_only' });
    await control.writer.write('token', 'tok_1', reader, { replaces: 1 });
    memory.append([asWritten(first!)]);
    await control.config.refresh(1_000);
    expect(control.config.token('tok_1')?.data.role).toBe('read_only');
  });
});

describe('the rotation of the key', () => {
  async function aSystem() {
    const memory = memoryLog();
    const { writer } = await openControl(memory);
    await writer.write('system', 'system', newSystemEntry(createEncryptor([KEY])), { replaces: 0 });
    await writer.write('token', 'tok_1', aToken('tok_1'), { replaces: 0 });
    await writer.write('token', 'tok_2', aToken('tok_2'), { replaces: 0 });
    await writer.write('token', 'tok_2', undefined, { replaces: 1 });
    await writer.write('source', 'src_1', aSource({ writeKeys: [] }), { replaces: 0 });
    return memory;
  }

  test('reseal authenticates each entry and deletion anew, but no stranger’s record', async () => {
    const memory = await aSystem();
    memory.append([record('token', aToken('tok_attacker'))]);
    const { config, writer } = await openControl(memory, [NEWER, KEY]);
    const encryptor = createEncryptor([NEWER, KEY]);
    expect(await reencryptConfig({ config, writer, encryptor })).toMatchObject({ resealed: 4 });
    expect(config.outdated()).toEqual([]);
    const after = await open(memory, [NEWER]);
    expect(after.config.list('token').map(({ data }) => data.id)).toEqual(['tok_1']);
    expect(after.config.source('src_1')).toBeDefined();
    expect(after.config.isUnreadable('token', 'tok_2')).toBe(false);
    expect(await reencryptConfig({ config, writer, encryptor })).toMatchObject({ resealed: 0 });
  });

  test('if asked, reseal deletes strangers’ entries, also for services without a key', async () => {
    const memory = await aSystem();
    const router = await open(memory, []);
    memory.append([
      record('destination', aDestination({ id: 'dst_evil' }), { version: 5 }),
      record('token', aToken('tok_evil')),
    ]);
    await router.config.refresh(1_000);
    expect(router.config.destination('dst_evil')).toBeDefined();
    const { config, writer } = await openControl(memory);
    const encryptor = createEncryptor([KEY]);
    const report = await reencryptConfig({ config, writer, encryptor, dropUnauthenticated: true });
    expect(report.dropped).toEqual(['destination:dst_evil', 'token:tok_evil']);
    await router.config.refresh(1_000);
    expect(router.config.destination('dst_evil')).toBeUndefined();
    expect(config.list('token').map(({ data }) => data.id)).toEqual(['tok_1']);
    expect([config.refused(), config.isUnreadable('token', 'tok_evil')]).toEqual([[], false]);
  });

  test('two control processes, one of which lacks the new key, lose no change', async () => {
    const memory = await aSystem();
    const former = await openControl(memory, [KEY]);
    const later = await openControl(memory, [NEWER, KEY]);
    const renamed = aToken('tok_1', { name: 'Renamed' });
    await later.writer.write('token', 'tok_1', renamed, { replaces: 1 });
    await former.config.refresh(1_000);
    expect(former.config.token('tok_1')).toEqual({ version: 2, data: renamed });
    await later.writer.write('token', 'tok_3', aToken('tok_3'), { replaces: 0 });
    await former.config.refresh(1_000);
    await former.writer.write('token', 'tok_1', undefined, { replaces: 2 });
    await later.config.refresh(1_000);
    await later.writer.write('token', 'tok_3', undefined, { replaces: 1 });
    await Promise.all([former.config.refresh(1_000), later.config.refresh(1_000)]);
    const reopened = memoryLog(memory.compacted('config'));
    const readers = [former, later, await open(reopened), await open(reopened, [NEWER, KEY])];
    for (const { config } of readers) {
      expect([config.list('token'), config.unsettled()]).toEqual([[], []]);
    }
  });

  test('a stranger cannot keep an entry from the new key by an older authentication', async () => {
    const memory = await aSystem();
    const { config, writer } = await openControl(memory, [NEWER, KEY]);
    const encryptor = createEncryptor([NEWER, KEY]);
    await reencryptConfig({ config, writer, encryptor });
    const last = asWritten(
      memory.records('config').findLast(({ key }) => key?.toString() === 'token:tok_1')!,
    );
    const [newer, older] = last.headers!.authentication!.split(',');
    const stripped = [older!, `${newer!.split('.')[0]!}.x,${older!}`];
    memory.append(stripped.map((authentication) => ({ ...last, headers: { authentication } })));
    await config.refresh(1_000);
    await reencryptConfig({ config, writer, encryptor });
    await writer.close();
    const after = await open(memoryLog(memory.compacted('config')), [NEWER]);
    expect(after.config.token('tok_1')).toBeDefined();
  });

  test('a process with another key writes nothing and repairs nothing', async () => {
    const memory = memoryLog((await aSystem()).records('config'));
    const other = await openControl(memory, [NEWER]);
    const before = memory.records('config').length;
    memory.append([record('source', aSource({ writeKeys: [] }), { id: 'src_1', version: 9 })]);
    await other.config.refresh(1_000);
    await markNewSystem(other.config, other.writer, createEncryptor([NEWER]));
    await expect(
      other.writer.write('token', 'tok_9', aToken('tok_9'), { replaces: 0 }),
    ).rejects.toThrow(/WAYPOST_SECRET_KEY differs/);
    await other.writer.inTurn(() => Promise.resolve());
    expect(memory.records('config')).toHaveLength(before + 1);
  });

  test('a process with another key finds the canary, and no entry that gives rights', async () => {
    const { config } = await open(await aSystem(), [NEWER]);
    expect(keyProblem(config, createEncryptor([NEWER]))).toMatch(/WAYPOST_SECRET_KEY differs/);
    expect(config.list('token')).toEqual([]);
  });

  test('a canary of a stranger replaces none that this process opened, and is undone', async () => {
    const memory = await aSystem();
    const control = await openControl(memory);
    memory.append([
      record('system', { id: 'system', canary: 'x' } as { id: string }, { version: 2 }),
      { topic: 'config', key: 'system:system', value: '{"format":999}' },
    ]);
    await eventually(async () => {
      await control.config.refresh(1_000);
      expect(control.config.unsettled()).toEqual([]);
    });
    const reopened = await open(memoryLog(memory.compacted('config')));
    for (const { config } of [control, reopened]) {
      expect(keyProblem(config, createEncryptor([KEY]))).toBeUndefined();
    }
  });
});
