import { WAYPOST } from '../../../services/control/auth/identities';
import { randomBytes } from 'node:crypto';
import pino from 'pino';
import {
  keyProblem,
  newSystemEntry,
  createEncryptor,
  decryptWriteKey,
  encryptWriteKey,
} from '../../../shared/config/encryption';
import { openConfig } from '../../../shared/config/reader';
import { reencryptConfig } from '../../../shared/config/reencrypt';
import { openWriter } from '../../../shared/config/writer';
import { type Source } from '../../../shared/model/config';
import { type EndpointTls, type OAuth2 } from '../../../shared/model/endpoint-auth';
import { memoryLog, type MemoryLog } from '../../support/memory-log';
import { aDestination } from '../../support/factories';

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
const destination = aDestination({
  webhooks: [
    {
      id: 'whk_1',
      url: old.encrypt('https://a.example/in', 'dst_1'),
      origin: 'https://a.example',
      headers: {},
    },
    {
      id: 'whk_2',
      url: old.encrypt('https://b.example/in', 'dst_1'),
      origin: 'https://b.example',
      headers: { 'X-Key': old.encrypt('planted-value', 'dst_1') },
      auth: {
        type: 'oauth2',
        tokenOrigin: 'https://c.example',
        clientId: 'shop',
        tokenUrl: old.encrypt('https://c.example/token', 'dst_1'),
        clientSecret: old.encrypt('planted-client', 'dst_1'),
        params: { resource: old.encrypt('planted-resource', 'dst_1') },
      },
      tls: { certificate: 'a certificate', key: old.encrypt('planted-key', 'dst_1') },
    },
  ],
  secrets: {
    current: old.encrypt('planted-secret', 'dst_1'),
    previous: old.encrypt('planted-before', 'dst_1'),
  },
  signature: {
    ed25519: {
      current: {
        publicKey: 'whpk_',
        privateKey: old.encrypt('planted-private', 'dst_1'),
        createdAt: AT,
      },
    },
  },
});

async function open(memory: MemoryLog) {
  const config = await openConfig(memory.kafka, { name: 'test', log, onFatal: () => undefined });
  const producer = await memory.kafka.producer({ maxPendingBytes: 1e6, deliveryTimeoutMs: 1_000 });
  return { config, writer: openWriter({ config, producer, log, now: () => new Date(AT) }) };
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
  });
  const { webhooks, secrets, signature } = config.destination('dst_1')!.data;
  const { auth, tls } = webhooks[1] as { auth: OAuth2<string>; tls: EndpointTls<string> };
  const sealed = [
    ...webhooks.flatMap(({ url, headers }) => [url, ...Object.values(headers)]),
    ...Object.values(secrets!),
    auth.tokenUrl,
    auth.clientSecret,
    ...Object.values(auth.params!),
    tls.key,
    signature!.ed25519!.current.privateKey,
  ];
  expect(sealed.map((text) => only.decrypt(text as string, 'dst_1').text)).toEqual([
    'https://a.example/in',
    'https://b.example/in',
    'planted-value',
    'planted-secret',
    'planted-before',
    'https://c.example/token',
    'planted-client',
    'planted-resource',
    'planted-key',
    'planted-private',
  ]);
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
  await reencryptConfig({ config, writer: { write: racing }, encryptor: both });
  const { data, version } = config.destination('dst_1')!;
  expect([data.name, version, only.decrypt(data.webhooks[0]!.url, 'dst_1').text]).toEqual([
    'Renamed',
    3,
    'https://a.example/in',
  ]);
});

test('reseal leaves texts that no key decrypts unchanged, and names the entry', async () => {
  const { config, writer } = await aSystem();
  const report = await reencryptConfig({ config, writer, encryptor: only, keyLost: true });
  expect(report).toEqual({
    resealed: 1,
    entries: 3,
    unreadable: ['source:src_1', 'destination:dst_1'],
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
