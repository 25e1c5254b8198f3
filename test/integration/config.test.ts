import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { Readable, Writable } from 'node:stream';
import { copyConfig } from '../../bin/config-copy';
import { reencrypt } from '../../bin/config-reencrypt';
import { openConfig } from '../../shared/config/reader';
import {
  createEncryptor,
  decryptWriteKey,
  type Encryptor,
  encryptWriteKey,
  newSystemEntry,
} from '../../shared/config/encryption';
import { createAuthenticator } from '../../shared/config/authentication';
import { secretFields } from '../../shared/model/secret-fields';
import { openWriter } from '../../shared/config/writer';
import {
  configKey,
  type Destination,
  type Kind,
  type Source,
  type Token,
} from '../../shared/model/config';
import { FORMAT } from '../../shared/model/record-format';
import { connectKafka } from '../../shared/kafka/client/client';
import { type Kafka } from '../../shared/kafka/port';
import { loadSettings } from '../../shared/runtime/settings';
import { createLog } from '../../shared/telemetry/log';
import { eventually } from '../support/eventually';

/**
 * `config` on a real Kafka: two control processes and their readers, each with separate
 * connections.
 */

const AT = '2026-11-21T08:00:00.000Z';
const log = createLog('test', 'silent');
/** the secret key with which control seals write keys */
const OLD_KEY = randomBytes(32);

const aSource = (id: string, name: string): Source => ({
  id,
  name,
  enabled: true,
  writeKeys: [encryptWriteKey(`key-${id}`, id, createEncryptor([OLD_KEY]))],
  createdAt: AT,
  updatedAt: AT,
});

const env = {
  KAFKA_BROKERS: process.env.KAFKA_BROKERS,
  WAYPOST_TOPIC_PREFIX: `config-${randomUUID().slice(0, 8)}.`,
  WAYPOST_PARTITIONS: '1',
  WAYPOST_REPLICATION: '1',
};
const kafkas: Kafka[] = [];
const closing: (() => Promise<void>)[] = [];
const failures: unknown[] = [];

const aToken = (id: string): Token => ({
  id,
  name: id,
  role: 'admin',
  hash: createHash('sha256').update(id).digest('base64url'),
  createdAt: AT,
  updatedAt: AT,
});

/**
 * Appends an entry as somebody does who may write the topic, and has no key. Its authentication
 * names a key that nobody has.
 */
async function appendAsStranger(kind: Kind, data: Token, on?: Kafka): Promise<void> {
  const kafka = on ?? (await connect());
  const producer = await kafka.producer({ maxPendingBytes: 1e6, deliveryTimeoutMs: 10_000 });
  const record = { format: FORMAT, kind, id: data.id, version: 1, replaces: 0, at: AT, data };
  const key = configKey(kind, data.id);
  const headers = { authentication: 'AAAAAAAA.x' };
  await producer.send([{ topic: 'config', key, value: JSON.stringify(record), headers }]);
  await producer.close(1_000);
}

async function connect(): Promise<Kafka> {
  const kafka = await connectKafka(loadSettings(env), { clientId: 'test', log });
  kafkas.push(kafka);
  return kafka;
}

async function openControl(secretKeys = [OLD_KEY]) {
  const authenticator = createAuthenticator(secretKeys);
  const kafka = await connect();
  const config = await openConfig(kafka, {
    name: 'test',
    authenticator,
    log,
    onFatal: (error) => failures.push(error),
  });
  const producer = await kafka.producer({ maxPendingBytes: 1e6, deliveryTimeoutMs: 10_000 });
  const writer = openWriter({ config, producer, authenticator, log, now: () => new Date() });
  closing.push(async () => {
    await writer.close();
    await producer.close(1_000);
    await config.stop();
  });
  return { config, writer };
}

afterAll(async () => {
  await Promise.all(closing.map((close) => close()));
  await Promise.all(kafkas.map((kafka) => kafka.close()));
});

test('a change of config by one process is known to another within a second', async () => {
  const [a, b] = [await openControl(), await openControl()];
  // The fastest of several rounds counts: a busy machine delays some.
  const known: number[] = [];
  const refreshed: number[] = [];
  for (let version = 1; version <= 9; version += 2) {
    const [one, two] = [`name ${String(version)}`, `name ${String(version + 1)}`];
    const replaces = version - 1;
    expect(await a.writer.write('source', 's1', aSource('s1', one), { replaces })).toMatchObject({
      ok: true,
    });
    expect(a.config.source('s1')?.data.name).toBe(one);
    const writtenAt = performance.now();
    await eventually(() => expect(b.config.sourceByWriteKey('key-s1', 0)?.data.name).toBe(one));
    known.push(performance.now() - writtenAt);

    const began = performance.now();
    await a.writer.write('source', 's1', aSource('s1', two), { replaces: version });
    await b.config.refresh(60_000);
    expect(b.config.source('s1')).toMatchObject({ version: version + 1, data: { name: two } });
    refreshed.push(performance.now() - began);
  }
  expect(Math.min(...known)).toBeLessThan(1_000);
  expect(Math.min(...refreshed)).toBeLessThan(2_000);
});

test('one of two concurrent writes wins, and all readers agree, including late ones', async () => {
  const [a, b] = [await openControl(), await openControl()];
  const wins = { a: 0, b: 0 };
  for (let round = 0; round < 10; round++) {
    const id = `race${String(round)}`;
    const [first, second] = await Promise.all([
      a.writer.write('source', id, aSource(id, 'a'), { replaces: 0 }),
      b.writer.write('source', id, aSource(id, 'b'), { replaces: 0 }),
    ]);
    expect([first.ok, second.ok].sort()).toEqual([false, true]);
    wins[first.ok ? 'a' : 'b']++;
    const winner = first.ok ? 'a' : 'b';
    await Promise.all([a.config.refresh(60_000), b.config.refresh(60_000)]);
    expect([a.config.source(id)?.data.name, b.config.source(id)?.data.name]).toEqual([
      winner,
      winner,
    ]);
  }
  // Both repair the records that they ignored, so that compaction cannot bring them back.
  await eventually(async () => {
    const late = await openControl();
    expect(late.config.unsettled()).toEqual([]);
    expect(late.config.list('source')).toEqual(a.config.list('source'));
  });
  expect(wins.a + wins.b).toBe(10);
});

test('readers of config forget deleted entries', async () => {
  const { config, writer } = await openControl();
  await writer.write('source', 'gone', aSource('gone', 'x'), { replaces: 0 });
  await writer.write('source', 'gone', undefined, { replaces: 1 });
  await config.refresh(60_000);
  const late = await openControl();
  for (const reader of [config, late.config]) {
    expect(reader.source('gone')).toBeUndefined();
    expect(reader.sourceByWriteKey('key-gone', 0)).toBeUndefined();
    expect(reader.recordAt('source:gone')).toBeUndefined();
  }
});

test('config can be copied to a new system and not to one that has entries', async () => {
  const original = await openControl();
  await original.writer.write('source', 'copied', aSource('copied', 'one'), { replaces: 0 });
  await original.writer.write('source', 'copied', aSource('copied', 'two'), { replaces: 1 });
  await original.writer.write('source', 'deleted', aSource('deleted', 'deleted'), { replaces: 0 });
  await original.writer.write('source', 'deleted', undefined, { replaces: 1 });
  let lines = '';
  const output = new Writable({
    write: (chunk, _, done) => {
      lines += String(chunk);
      done();
    },
  });
  await appendAsStranger('token', aToken('tok_stranger'));
  const withKey = { ...env, WAYPOST_SECRET_KEY: OLD_KEY.toString('base64') };
  await copyConfig('backup', withKey, { input: Readable.from([]), output });
  const keys = lines
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { key: string }).key);
  expect(keys.filter((key) => key === 'source:copied')).toHaveLength(1);
  expect(keys).not.toContain('source:deleted');
  expect(keys).not.toContain('token:tok_stranger');

  const elsewhere = { ...env, WAYPOST_TOPIC_PREFIX: `copy-${randomUUID().slice(0, 8)}.` };
  const restore = () => copyConfig('restore', elsewhere, { input: Readable.from([lines]), output });
  await restore();
  const kafka = await connectKafka(loadSettings(elsewhere), { clientId: 'test', log });
  kafkas.push(kafka);
  const copy = await openConfig(kafka, {
    name: 'test',
    authenticator: createAuthenticator([OLD_KEY]),
    log,
    onFatal: (error) => failures.push(error),
  });
  closing.push(() => copy.stop());
  await original.config.refresh(60_000);
  expect(copy.list('source')).toEqual(original.config.list('source'));
  expect(copy.source('copied')?.version).toBe(2);

  // As after a run that broke off: all is there already.
  await restore();
  expect((await kafka.ranges('config'))[0]?.high).toBe(keys.length);
  const producer = await kafka.producer({ maxPendingBytes: 1e6, deliveryTimeoutMs: 10_000 });
  await producer.send([{ topic: 'config', key: 'source:other', value: '{}' }]);
  await producer.close(1_000);
  await expect(restore()).rejects.toThrow(/not empty/);
});

test('a backup of an earlier build is refused, and nothing of it is written', async () => {
  const elsewhere = { ...env, WAYPOST_TOPIC_PREFIX: `old-copy-${randomUUID().slice(0, 8)}.` };
  const line = JSON.stringify({ key: 'source:s', value: '{"format":1,"kind":"source","id":"s"}' });
  const io = { input: Readable.from([`${line}\n`]), output: new Writable() };
  await expect(copyConfig('restore', elsewhere, io)).rejects.toMatchObject({
    code: 'older_format',
    message: expect.stringMatching(
      /line 1 of the backup is of format 1.*`waypost export` with that build/,
    ),
  });
});

test('config is encrypted again while control reads, so the old key can be removed', async () => {
  const [old, newer] = [OLD_KEY, randomBytes(32)];
  const control = await openControl([old, newer]);
  const destination = (encryptor: Encryptor): Destination => ({
    id: 'dst_1',
    name: 'Hooks',
    type: 'webhooks',
    enabled: true,
    paused: false,
    sources: [],
    webhooks: [
      {
        id: 'whk_1',
        url: encryptor.encrypt('https://a.example/in', secretFields.url('dst_1', 'whk_1')),
        origin: 'https://a.example',
        headers: {},
      },
    ],
    createdAt: AT,
    updatedAt: AT,
  });
  const sealed = createEncryptor([old]);
  const site = aSource('site', 'Site');
  await control.writer.write('system', 'system', newSystemEntry(sealed), { replaces: 0 });
  await control.writer.write('source', 'site', site, { replaces: 0 });
  await control.writer.write('destination', 'dst_1', destination(sealed), { replaces: 0 });
  const withNewer = { ...env, WAYPOST_SECRET_KEY: newer.toString('base64') };
  const io = { input: Readable.from([]), output: new Writable() };
  await expect(copyConfig('backup', withNewer, io)).rejects.toThrow(
    /WAYPOST_SECRET_KEY differs from the key that sealed config/,
  );
  const run = async (...keys: Buffer[]) => {
    const said: string[] = [];
    const key = keys.map((each) => each.toString('base64')).join(',');
    await reencrypt({ ...env, WAYPOST_SECRET_KEY: key }, (line) => said.push(line));
    await control.config.refresh(60_000);
    return said.at(-1);
  };
  await expect(run(newer)).rejects.toThrow(/No key of WAYPOST_SECRET_KEY opens config/);
  expect(control.config.source('site')!.data).toEqual(site);
  expect(await run(newer, old)).toMatch(/entries sealed/);
  const { url } = control.config.destination('dst_1')!.data.webhooks[0]!;
  expect(createEncryptor([newer]).decrypt(url, secretFields.url('dst_1', 'whk_1')).text).toBe(
    'https://a.example/in',
  );
  expect(
    decryptWriteKey(
      control.config.source('site')!.data.writeKeys[0]!,
      'site',
      createEncryptor([newer]),
    ),
  ).toBe('key-site');
  expect(control.config.sourceByWriteKey('key-site', 0)?.data.id).toBe('site');
  expect(await run(newer)).toMatch(/^0 of/);
  const reader = await openControl([newer]);
  expect(reader.config.source('site')).toEqual(control.config.source('site'));
  expect(reader.config.list('token')).toEqual([]);
});

test('with a lost key an administrator accepts every entry, and hears of the tokens', async () => {
  const elsewhere = { ...env, WAYPOST_TOPIC_PREFIX: `lost-${randomUUID().slice(0, 8)}.` };
  const kafka = await connectKafka(loadSettings(elsewhere), { clientId: 'test', log });
  kafkas.push(kafka);
  await appendAsStranger('token', aToken('tok_1'), kafka);
  const newer = randomBytes(32);
  const settings = { ...elsewhere, WAYPOST_SECRET_KEY: newer.toString('base64') };
  const said: string[] = [];
  await reencrypt(settings, (line) => said.push(line));
  expect(said.join('\n')).not.toContain('tok_1');
  await reencrypt(settings, (line) => said.push(line), { keyLost: true });
  expect(said.at(-2)).toMatch(/nothing shows who wrote config.*Delete each token/);
  expect(said.at(-1)).toBe('  tok_1 admin tok_1');
  const reader = await openConfig(kafka, {
    name: 'test',
    authenticator: createAuthenticator([newer]),
    log,
    onFatal: (error) => failures.push(error),
  });
  closing.push(() => reader.stop());
  expect(reader.list('token').map(({ data }) => data.id)).toEqual(['tok_1']);
});

test('a record of a newer format ends the readers of config that have no key', async () => {
  const withKey = await openControl();
  const kafka = await connect();
  const config = await openConfig(kafka, {
    name: 'test',
    log,
    onFatal: (error) => failures.push(error),
  });
  closing.push(() => config.stop());
  const producer = await kafka.producer({ maxPendingBytes: 1e6, deliveryTimeoutMs: 10_000 });
  await producer.send([{ topic: 'config', key: 'rule:1', value: '{"format":9}' }]);
  await eventually(() =>
    expect(failures).toContainEqual(expect.objectContaining({ code: 'newer_format' })),
  );
  await expect(openConfig(kafka, { name: 'test', log, onFatal: () => undefined })).rejects.toThrow(
    /format 9.*Upgrade/,
  );
  await withKey.config.refresh(60_000);
  expect(withKey.config.refused()).toContain('rule:1');
  await producer.close(1_000);
});
