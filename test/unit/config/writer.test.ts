import { randomBytes } from 'node:crypto';
import pino from 'pino';
import { createAuthenticator } from '../../../shared/config/authentication';
import { openConfig } from '../../../shared/config/reader';
import { openWriter } from '../../../shared/config/writer';
import { type Source } from '../../../shared/model/config';
import { AppError } from '../../../shared/runtime/errors';
import { memoryLog, type MemoryLog } from '../../support/memory-log';
import { FORMAT } from '../../../shared/model/record-format';
import { aWriteKey } from '../../support/write-key';

const AT = '2026-01-01T00:00:00.000Z';
const log = pino({ level: 'silent' });
const authenticator = createAuthenticator([randomBytes(32)]);
const aSource = (name: string): Source => ({
  id: 's',
  name,
  enabled: true,
  writeKeys: [aWriteKey('k')],
  createdAt: AT,
  updatedAt: AT,
});
const record = (version: number, name: string, over: object = {}) => ({
  topic: 'config',
  key: 'source:s',
  value: JSON.stringify({
    format: FORMAT,
    kind: 'source',
    id: 's',
    version,
    replaces: version - 1,
    at: AT,
    data: aSource(name),
    ...over,
  }),
});

async function open(memory: MemoryLog) {
  const failures: unknown[] = [];
  const config = await openConfig(memory.kafka, {
    name: 'test',
    log,
    onFatal: (error) => failures.push(error),
  });
  const producer = await memory.kafka.producer({ maxPendingBytes: 1e6, deliveryTimeoutMs: 1_000 });
  return {
    config,
    failures,
    writer: openWriter({ config, producer, authenticator, log, now: () => new Date(AT) }),
  };
}

describe('the reader of config', () => {
  test('follows what the topic says after it was cut, once it has read all of it', async () => {
    const memory = memoryLog();
    const of = (id: string, version: number, name: string) => ({
      ...record(version, name, { id, data: { ...aSource(name), id, writeKeys: [] } }),
      key: `source:${id}`,
    });
    memory.append([of('a', 1, 'kept'), of('b', 1, 'first'), of('b', 2, 'cut'), of('c', 1, 'gone')]);
    const { config } = await open(memory);
    const names = () => ['a', 'b', 'c'].map((id) => config.source(id)?.data.name);
    const changes: string[] = [];
    config.onChange(({ id, data }) => {
      changes.push(`${id} ${data ? 'is there' : 'is gone'}: ${names().join()}`);
    });
    const read = config.changes;

    memory.cut('config', 2);
    memory.append([of('b', 2, 'after')]);
    expect([names(), config.position]).toEqual([['kept', 'cut', 'gone'], 4]);
    await config.refresh(1_000);
    expect([names(), config.position]).toEqual([['kept', 'after', undefined], 3]);
    expect(changes).toEqual([
      'a is there: kept,after,',
      'b is there: kept,after,',
      'b is there: kept,after,',
      'c is gone: kept,after,',
    ]);
    expect(config.changes).toBeGreaterThan(read);
  });

  test('has read to the end when it opens, and follows from there', async () => {
    const memory = memoryLog();
    memory.append([record(1, 'one')]);
    const config = await openConfig(memory.kafka, { name: 'test', log, onFatal: () => undefined });
    expect(config.source('s')?.data.name).toBe('one');
    const changes: string[] = [];
    config.onChange((change) => changes.push(`${change.id}@${change.version}`));
    memory.append([record(2, 'two'), { ...record(1, 'x'), value: 'rubbish' }]);
    await config.refresh(1_000);
    expect([config.source('s')?.data.name, changes]).toEqual(['two', ['s@2']]);
  });

  test('refuses entries of an earlier build in one sentence that says what to do', async () => {
    const memory = memoryLog();
    memory.append([record(1, 'one', { format: 1 })]);
    await expect(open(memory)).rejects.toMatchObject({
      code: 'older_format',
      message: expect.stringMatching(
        /^An earlier build .*\(source:s\) of format 1.*`waypost export` with that build.*new data.*`waypost import`/,
      ),
    });
  });

  test('ends the process with a clear message at a record of a newer format', async () => {
    const memory = memoryLog();
    const { failures } = await open(memory);
    memory.append([record(1, 'one', { format: 9 }), record(1, 'one', { format: 9 })]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(failures).toEqual([
      expect.objectContaining({
        code: 'newer_format',
        message: expect.stringContaining('format 9'),
      }),
    ]);
    await expect(open(memory)).rejects.toMatchObject({ code: 'newer_format' });
  });
});

describe('the writer of config', () => {
  test('returns when its record was read back, and deletes permanently', async () => {
    const memory = memoryLog();
    const { config, writer } = await open(memory);
    expect(await writer.write('source', 's', aSource('one'), { replaces: 0 })).toMatchObject({
      ok: true,
      version: 1,
    });
    expect(config.source('s')?.data.name).toBe('one');
    expect(await writer.write('source', 's', aSource('two'), { replaces: 0 })).toEqual({
      ok: false,
      reason: 'conflict',
    });
    expect(await writer.write('source', 's', undefined, { replaces: 1 })).toMatchObject({
      ok: true,
      version: 2,
    });
    await config.refresh(1_000);
    expect(config.source('s')).toBeUndefined();
    expect(memory.compacted('config').map((last) => last.value)).toEqual([null]);
  });

  test('takes turns: a turn replaces exactly the version that it read', async () => {
    const { config, writer } = await open(memoryLog());
    await writer.write('source', 's', aSource(''), { replaces: 0 });
    const append = (letter: string) =>
      writer.inTurn((write) => {
        const entry = config.source('s')!;
        return write('source', 's', aSource(entry.data.name + letter), { replaces: entry.version });
      });
    await Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map(append));
    expect(config.source('s')).toMatchObject({ version: 7, data: { name: 'abcdef' } });
  });

  test('reports a conflict to the second of two writers, and repairs a compacted log', async () => {
    const memory = memoryLog();
    const [a, b] = [await open(memory), await open(memory)];
    await a.writer.write('source', 's', aSource('base'), { replaces: 0 });
    await b.config.refresh(1_000);
    const results = await Promise.all([
      a.writer.write('source', 's', aSource('a'), { replaces: 1 }),
      b.writer.write('source', 's', aSource('b'), { replaces: 1 }),
    ]);
    expect(results.map((result) => result.ok)).toEqual([true, false]);
    await a.writer.close();
    await b.writer.close();
    const fresh = await open(memoryLog(memory.compacted('config')));
    expect(fresh.config.source('s')).toMatchObject({ version: 3, data: { name: 'a' } });
    expect(fresh.config.unsettled()).toEqual([]);
  });

  test('repairs at start the records that an earlier process left', async () => {
    const memory = memoryLog();
    memory.append([record(1, 'one'), record(1, 'lost')]);
    const { writer } = await open(memory);
    await writer.close();
    const fresh = await open(memoryLog(memory.compacted('config')));
    expect(fresh.config.source('s')).toMatchObject({ version: 2, data: { name: 'one' } });
  });

  describe('while Kafka refuses repairs', () => {
    let pausedMs = 0;
    let clock: jest.SpyInstance<number>;
    beforeEach(() => {
      const now = performance.now.bind(performance);
      clock = jest.spyOn(performance, 'now').mockImplementation(() => now() + pausedMs);
    });
    afterEach(() => clock.mockRestore());

    test('repairs a log after Kafka was away when a writer came second', async () => {
      const memory = memoryLog();
      const { config, writer } = await open(memory);
      await writer.write('source', 's', aSource('one'), { replaces: 0 });
      memory.failWith(new AppError('kafka_unavailable', 'away', true));
      memory.append([record(1, 'lost')]);
      await config.refresh(1_000);
      await writer.close();
      memory.failWith(undefined);
      // A reader confirms the end of the topic ten times a second.
      await config.refresh(1_000);
      await writer.close();
      expect(config.unsettled()).toEqual(['source:s']);
      pausedMs += 10_000;
      await config.refresh(1_000);
      await writer.close();
      const fresh = await open(memoryLog(memory.compacted('config')));
      expect(fresh.config.source('s')).toMatchObject({ version: 2, data: { name: 'one' } });
    });

    test('repairs the other keys if Kafka refuses the record of one', async () => {
      const memory = memoryLog();
      const other = { id: 't', data: { ...aSource('other'), id: 't' } };
      memory.append([
        record(1, 'one'),
        record(1, 'lost'),
        { ...record(1, '', other), key: 'source:t' },
        { ...record(1, '', { ...other, replaces: 7 }), key: 'source:t' },
      ]);
      memory.refuse(({ key }) => key === 'source:s');
      const { config, writer } = await open(memory);
      await writer.close();
      await config.refresh(1_000);
      expect(config.unsettled()).toEqual(['source:s']);
    });
  });

  test('fails only the write that happens while Kafka is away', async () => {
    const memory = memoryLog();
    const { writer } = await open(memory);
    memory.failWith(new AppError('kafka_unavailable', 'away', true));
    await expect(
      writer.write('source', 's', aSource('one'), { replaces: 0 }),
    ).rejects.toMatchObject({
      code: 'kafka_unavailable',
    });
    memory.failWith(undefined);
    expect(await writer.write('source', 's', aSource('one'), { replaces: 0 })).toMatchObject({
      ok: true,
    });
  });
});
