import { WAYPOST } from '../../../services/control/auth/identities';
import { randomBytes } from 'node:crypto';
import pino from 'pino';
import {
  type Encryptor,
  keyProblem,
  newSystemEntry,
  createEncryptor,
  decryptWriteKey,
  encryptWriteKey,
} from '../../../shared/config/encryption';
import { openConfig } from '../../../shared/config/reader';
import { reencryptConfig } from '../../../shared/config/reencrypt';
import { openWriter } from '../../../shared/config/writer';
import { type Destination, type Source } from '../../../shared/model/config';
import { memoryLog, type MemoryLog } from '../../support/memory-log';
import { aDestination } from '../../support/factories';
import { createAuthenticator } from '../../../shared/config/authentication';
import { mapSecrets, secretFields } from '../../../shared/model/secret-fields';

const AT = '2026-01-01T00:00:00.000Z';
const dates = { createdAt: AT, updatedAt: AT };
const log = pino({ level: 'silent' });
const [OLD, NEW] = [randomBytes(32), randomBytes(32)];
const [old, both, only] = [
  createEncryptor([OLD]),
  createEncryptor([NEW, OLD]),
  createEncryptor([NEW]),
];

const source: Source = {
  id: 'src_1',
  name: 'Site',
  enabled: true,
  ...dates,
  writeKeys: [
    encryptWriteKey('planted-new', 'src_1', old),
    { ...encryptWriteKey('planted-old', 'src_1', old), until: 5_000 },
  ],
};
/** Its secrets in the clear. */
const plain = aDestination({
  webhooks: [
    { id: 'whk_1', url: 'https://a.example/in', origin: 'https://a.example', headers: {} },
    {
      id: 'whk_2',
      url: 'https://b.example/in',
      origin: 'https://b.example',
      headers: { 'X-Key': 'planted-value' },
      auth: {
        type: 'oauth2',
        tokenOrigin: 'https://c.example',
        clientId: 'shop',
        tokenUrl: 'https://c.example/token',
        clientSecret: 'planted-client',
        params: { resource: 'planted-resource' },
      },
      tls: { certificate: 'a certificate', key: 'planted-key' },
    },
  ],
  secrets: { current: 'planted-secret', previous: 'planted-before' },
  signature: {
    ed25519: { current: { publicKey: 'whpk_', privateKey: 'planted-private', createdAt: AT } },
  },
  proxy: { address: 'http://proxy.example:3128', userInfo: 'planted:login' },
});
const destination = mapSecrets(plain, (text, field) => old.encrypt(text, field));
const opened = (stored: Destination, encryptor: Encryptor) =>
  mapSecrets(stored, (sealed, field) => encryptor.decrypt(sealed, field).text ?? 'lost');

async function open(memory: MemoryLog, keys = [NEW, OLD]) {
  const authenticator = createAuthenticator(keys);
  const config = await openConfig(memory.kafka, {
    name: 'test',
    authenticator,
    log,
    onFatal: () => undefined,
  });
  const producer = await memory.kafka.producer({ maxPendingBytes: 1e6, deliveryTimeoutMs: 1_000 });
  return {
    config,
    writer: openWriter({ config, producer, authenticator, log, now: () => new Date(AT) }),
  };
}

async function aSystem() {
  const memory = memoryLog();
  const { config, writer } = await open(memory);
  await writer.write('source', 'src_1', source, { replaces: 0 });
  await writer.write('destination', 'dst_1', destination, { replaces: 0 });
  return { memory, config, writer };
}
const textOf = (memory: MemoryLog) =>
  memory.compacted('config').map(({ value }) => value?.toString() ?? '');

test('reseal encrypts every text with the first key, so the old key can be removed', async () => {
  const { memory, config, writer } = await aSystem();
  expect(await reencryptConfig({ config, writer, encryptor: both })).toEqual({
    resealed: 3,
    entries: 3,
    unreadable: [],
    dropped: [],
    notDropped: [],
  });
  expect(opened(config.destination('dst_1')!.data, only)).toEqual(plain);
  expect(
    config.source('src_1')!.data.writeKeys.map((key) => decryptWriteKey(key, 'src_1', only)),
  ).toEqual(['planted-new', 'planted-old']);
  expect(textOf(memory).join()).not.toContain('planted');
  expect(keyProblem(config, only)).toBeUndefined();
});

test('reseal keeps all other fields, and write keys still open their source', async () => {
  const { config, writer } = await aSystem();
  await reencryptConfig({ config, writer, encryptor: both });
  const after = config.source('src_1')!;
  expect([after.version, { ...after.data, writeKeys: [] }]).toEqual([
    2,
    { ...source, writeKeys: [] },
  ]);
  expect(config.destination('dst_1')!.data).toMatchObject({
    ...destination,
    webhooks: [{ id: 'whk_1' }, {}],
    proxy: { address: 'http://proxy.example:3128' },
    secrets: {},
    signature: {},
  });
  expect(config.sourceByWriteKey('planted-new', 9_000)?.data.id).toBe('src_1');
  expect(config.sourceByWriteKey('planted-old', 4_999)?.data.id).toBe('src_1');
  expect(config.sourceByWriteKey('planted-old', 5_000)).toBeUndefined();
});

test('reseal writes audit notes as Waypost, even for entries that a person wrote', async () => {
  const { memory, config, writer } = await aSystem();
  const by = { id: 'tok_kim', name: 'Kim', role: 'admin' };
  const note = JSON.stringify({ by, action: 'changed', name: 'Shop', changes: [] });
  await writer.write('source', 'src_1', source, { replaces: 1, note });
  const before = memory.records('config').length;
  await reencryptConfig({ config, writer, encryptor: both });
  const notes = memory
    .records('config')
    .slice(before)
    .flatMap(({ headers }) => headers.note ?? []);
  expect(notes.map((text) => (JSON.parse(text) as { by: unknown }).by)).toEqual([WAYPOST, WAYPOST]);
});

test('a second reseal writes nothing', async () => {
  const { memory, config, writer } = await aSystem();
  await reencryptConfig({ config, writer, encryptor: both });
  const records = memory.records('config').length;
  expect(await reencryptConfig({ config, writer, encryptor: both })).toMatchObject({
    resealed: 0,
    entries: 3,
  });
  expect(memory.records('config')).toHaveLength(records);
});

test('reseal loses no change that control makes at the same time', async () => {
  const { memory, config, writer } = await aSystem();
  const control = await open(memory);
  const { write } = writer;
  let raced = false;
  const racing: typeof write = async (kind, id, data, options) => {
    if (kind === 'destination' && !raced) {
      raced = true;
      await control.writer.write(
        'destination',
        'dst_1',
        { ...destination, name: 'Renamed' },
        { replaces: 1 },
      );
      await config.refresh(1_000);
    }
    return write(kind, id, data, options);
  };
  await reencryptConfig({ config, writer: { ...writer, write: racing }, encryptor: both });
  const { data, version } = config.destination('dst_1')!;
  expect([
    data.name,
    version,
    only.decrypt(data.webhooks[0]!.url, secretFields.url('dst_1', 'whk_1')).text,
  ]).toEqual(['Renamed', 3, 'https://a.example/in']);
});

test('reseal leaves texts that no key decrypts unchanged, and names the entry', async () => {
  const { config, writer } = await aSystem();
  const report = await reencryptConfig({ config, writer, encryptor: only, keyLost: true });
  expect(report).toEqual({
    resealed: 1,
    entries: 3,
    unreadable: ['source:src_1', 'destination:dst_1'],
    dropped: [],
    notDropped: [],
  });
  expect(config.destination('dst_1')).toEqual({ version: 1, data: destination });
});

test('a reseal with another key writes nothing', async () => {
  const { memory, config, writer } = await aSystem();
  await writer.write('system', 'system', newSystemEntry(old), { replaces: 0 });
  const records = memory.records('config').length;
  await expect(reencryptConfig({ config, writer, encryptor: only })).rejects.toThrow(
    /No key of WAYPOST_SECRET_KEY opens config/,
  );
  expect(memory.records('config')).toHaveLength(records);
});

test('a process with another key notices by the canary, before it encrypts anything', async () => {
  const { config, writer } = await open(memoryLog());
  await writer.write('system', 'system', newSystemEntry(old), { replaces: 0 });
  expect([keyProblem(config, old), keyProblem(config, both)]).toEqual([undefined, undefined]);
  expect(keyProblem(config, only)).toMatch(/WAYPOST_SECRET_KEY differs/);
});

test('a stored hash opens no source, neither as it is nor hashed again', async () => {
  const { config, writer } = await aSystem();
  await reencryptConfig({ config, writer, encryptor: both });
  for (const { key } of config.source('src_1')!.data.writeKeys) {
    expect(config.sourceByWriteKey(key, 0)).toBeUndefined();
  }
  const sealed = encryptWriteKey('planted-third', 'src_1', both);
  await writer.write('source', 'src_1', { ...source, writeKeys: [sealed] }, { replaces: 2 });
  expect(config.sourceByWriteKey('planted-third', 0)?.data.id).toBe('src_1');
  expect(config.sourceByWriteKey('planted-new', 0)).toBeUndefined();
});
