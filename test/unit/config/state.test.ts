import fc from 'fast-check';
import { PARTS } from '../../../shared/config/config-subset';
import { openConfig } from '../../../shared/config/reader';
import { ConfigState } from '../../../shared/config/state';
import {
  type ConfigRecord,
  configKey,
  type Destination,
  type Source,
} from '../../../shared/model/config';
import { createLog } from '../../../shared/telemetry/log';
import { memoryLog } from '../../support/memory-log';
import { aDestination } from '../../support/factories';
import { FORMAT } from '../../../shared/model/record-format';
import { aWriteKey } from '../../support/write-key';

const AT = '2026-01-01T00:00:00.000Z';

function aSource(id: string, over: Partial<Source> = {}): Source {
  return {
    id,
    name: 'Site',
    enabled: true,
    writeKeys: [aWriteKey(`key-${id}`)],
    createdAt: AT,
    updatedAt: AT,
    ...over,
  };
}

function put(state: ConfigState, version: number, data: Source | Destination) {
  const kind = 'writeKeys' in data ? 'source' : 'destination';
  const record = {
    format: FORMAT,
    kind,
    id: data.id,
    version,
    replaces: version - 1,
    at: AT,
    data,
  } as ConfigRecord;
  return state.apply(configKey(kind, data.id), JSON.stringify(record));
}

function remove(state: ConfigState, id: string, version: number) {
  const record: ConfigRecord = {
    format: FORMAT,
    kind: 'source',
    id,
    version,
    replaces: version - 1,
    at: AT,
  };
  return state.apply(configKey('source', id), JSON.stringify(record));
}

describe('the state of config', () => {
  test('applies a record that replaces the present version, and ignores any other', () => {
    const state = new ConfigState();
    expect(put(state, 1, aSource('s')).kind).toBe('applied');
    expect(put(state, 2, aSource('s', { name: 'first' })).kind).toBe('applied');
    expect(put(state, 2, aSource('s', { name: 'second' }))).toMatchObject({ kind: 'ignored' });
    expect(state.source('s')).toMatchObject({ version: 2, data: { name: 'first' } });
  });

  test('applies a record that replaces a later version than the present one', () => {
    const state = new ConfigState();
    put(state, 2, aSource('s', { name: 'at hand' }));
    expect(put(state, 5, aSource('s', { name: 'later' })).kind).toBe('applied');
    expect([state.source('s')?.data.name, state.unsettled()]).toEqual(['later', []]);
  });

  test.each([
    [2 ** 40, aSource('s'), 'applied'],
    [2 ** 40 + 1, aSource('s'), 'unreadable'],
    [2 ** 40 + 1, undefined, 'applied'],
  ])('an entry ends at version 2^40, and a deletion can follow: %d', (version, data, kind) => {
    const state = new ConfigState();
    const verdict = data ? put(state, version, data) : remove(state, 's', version);
    expect(verdict.kind).toBe(kind);
  });

  test('applies any version of an unknown entry', () => {
    const state = new ConfigState();
    expect(put(state, 7, aSource('s')).kind).toBe('applied');
    expect(state.source('s')?.version).toBe(7);
  });

  test('removes by a tombstone only deleted or unknown entries', () => {
    const state = new ConfigState();
    expect(state.apply('source:s', null).kind).toBe('removed');
    put(state, 1, aSource('s'));
    expect(state.apply('source:s', null).kind).toBe('ignored');
    expect(state.source('s')).toBeDefined();
    remove(state, 's', 2);
    expect(state.source('s')).toBeUndefined();
    expect(state.list('source')).toEqual([]);
    expect(state.apply('source:s', null).kind).toBe('removed');
    expect(state.unsettled()).toEqual([]);
  });

  test.each([
    ['invalid JSON', 'source:s', '{"write'],
    ['an array', 'source:s', '[]'],
    [
      'another key',
      'source:t',
      JSON.stringify({ format: FORMAT, kind: 'source', id: 's', version: 1, replaces: 0, at: AT }),
    ],
    [
      'no version',
      'source:s',
      JSON.stringify({ format: FORMAT, kind: 'source', id: 's', replaces: 0, at: AT }),
    ],
    [
      'an unknown kind',
      'x:s',
      JSON.stringify({ format: FORMAT, kind: 'x', id: 's', version: 1, replaces: 0, at: AT }),
    ],
    [
      'data of another id',
      'source:s',
      JSON.stringify({
        format: FORMAT,
        kind: 'source',
        id: 's',
        version: 1,
        replaces: 0,
        at: AT,
        data: aSource('t'),
      }),
    ],
    [
      'data without write keys',
      'source:s',
      JSON.stringify({
        format: FORMAT,
        kind: 'source',
        id: 's',
        version: 1,
        replaces: 0,
        at: AT,
        data: { id: 's' },
      }),
    ],
  ])('calls %s unreadable, and continues', (_, key, value) => {
    const state = new ConfigState();
    expect(state.apply(key, value).kind).toBe('unreadable');
    expect(put(state, 1, aSource('s')).kind).toBe('applied');
  });

  test.each([
    ['newer', FORMAT + 1],
    ['older', FORMAT - 1],
  ])('reports a %s format', (kind, format) => {
    const state = new ConfigState();
    expect(state.apply('rule:r', JSON.stringify({ format, anything: 1 }))).toEqual({
      kind,
      key: 'rule:r',
      format,
    });
  });
});

describe('a record that only a newer Waypost can read', () => {
  const unreadable = (state: ConfigState) =>
    state.apply(
      'destination:d',
      `{"format":${FORMAT},"kind":"destination","id":"d","version":2,"replaces":1}`,
    );

  test('makes its entry unreadable, and no other', () => {
    const state = new ConfigState();
    put(state, 1, aDestination({ id: 'd', sources: ['s'] }));
    unreadable(state);
    expect([
      state.isUnreadable('destination', 'd'),
      state.isUnreadable('destination', 'other'),
    ]).toEqual([true, false]);
  });

  test.each([
    [
      'a record that replaces it',
      (state: ConfigState) => put(state, 3, aDestination({ id: 'd', sources: ['s'] })),
    ],
    [
      'the repair by control',
      (state: ConfigState) => put(state, 2, aDestination({ id: 'd', sources: ['s'] })),
    ],
    ['its tombstone', (state: ConfigState) => state.apply('destination:d', null)],
  ])('no longer matters after %s', (_, next) => {
    const state = new ConfigState();
    put(state, 1, aDestination({ id: 'd', sources: ['s'] }));
    unreadable(state);
    next(state);
    expect(state.isUnreadable('destination', 'd')).toBe(false);
  });

  test("connects a destination to its last readable record's sources and to those named", () => {
    const state = new ConfigState();
    const asked = () => ['s', 't', 'u'].map((source) => state.unreadableDestinationsOf(source));
    put(state, 1, aDestination({ id: 'd', sources: ['s'] }));
    expect([asked(), state.unreadable]).toEqual([[[], [], []], 0]);
    state.apply(
      'destination:d',
      `{"format":${FORMAT},"kind":"destination","id":"d","data":{"sources":["t"],"webhooks":7}}`,
    );
    expect([asked(), state.unreadable]).toEqual([[['d'], ['d'], []], 1]);
    put(state, 3, aDestination({ id: 'd', sources: ['u'] }));
    expect([asked(), state.unreadable]).toEqual([[[], [], []], 0]);
  });

  test('keeps its sources if a later unreadable record names none', () => {
    const state = new ConfigState();
    state.apply(
      'destination:d',
      `{"format":${FORMAT},"kind":"destination","id":"d","data":{"sources":["t"],"webhooks":7}}`,
    );
    state.apply('destination:d', `{"format":${FORMAT},`);
    expect(state.unreadableDestinationsOf('t')).toEqual(['d']);
  });

  test('connects its destination to no source if none is readable', () => {
    const state = new ConfigState();
    state.apply('destination:d', `{"format":${FORMAT},`);
    expect([state.unreadableDestinationsOf('s'), state.unreadable]).toEqual([[], 1]);
  });

  test('does not revive an older record that was ignored before', () => {
    const state = new ConfigState();
    put(state, 1, aDestination({ id: 'd', sources: ['s'] }));
    unreadable(state);
    expect(put(state, 1, aDestination({ id: 'd', sources: [] }))).toMatchObject({
      kind: 'ignored',
    });
  });
});

describe('a query of config', () => {
  test('finds a source by its present key, and by a rotated one until its time', () => {
    const state = new ConfigState();
    put(state, 1, aSource('s', { writeKeys: [aWriteKey('old')] }));
    put(state, 2, aSource('s', { writeKeys: [aWriteKey('new'), aWriteKey('old', 1_000)] }));
    expect(state.sourceByWriteKey('new', 5_000)?.data.id).toBe('s');
    expect(state.sourceByWriteKey('old', 999)?.data.id).toBe('s');
    expect(state.sourceByWriteKey('old', 1_000)).toBeUndefined();
    expect(state.sourceByWriteKey('never', 0)).toBeUndefined();
    put(state, 3, aSource('s', { writeKeys: [aWriteKey('new')] }));
    expect(state.sourceByWriteKey('old', 0)).toBeUndefined();
    remove(state, 's', 4);
    expect(state.sourceByWriteKey('new', 0)).toBeUndefined();
  });

  test('lists the destinations of a source as they change', () => {
    const state = new ConfigState();
    const of = (source: string) =>
      state.destinationsOf(source).map((entry) => `${entry.data.id}@${entry.version}`);
    expect(of('a')).toEqual([]);
    put(state, 1, aDestination({ id: 'd', sources: ['a', 'b'] }));
    put(state, 1, aDestination({ id: 'e', sources: ['a'] }));
    expect(of('a')).toEqual(['d@1', 'e@1']);
    put(state, 2, aDestination({ id: 'd', sources: ['b'] }));
    expect([of('a'), of('b')]).toEqual([['e@1'], ['d@2']]);
    state.apply(
      'destination:d',
      JSON.stringify({
        format: FORMAT,
        kind: 'destination',
        id: 'd',
        version: 3,
        replaces: 2,
        at: AT,
      }),
    );
    expect(of('b')).toEqual([]);
  });
});

/**
 * Steps of two processes that do not know of each other. Each write replaces the version last read.
 */
interface Step {
  writer: 0 | 1;
  act: 'look' | 'put' | 'delete' | 'tombstone';
}
type Logged = [key: string, value: string | null];

const steps = fc.array(
  fc.record<Step>({
    writer: fc.constantFrom(0, 1),
    act: fc.constantFrom('look', 'put', 'put', 'delete', 'tombstone'),
  }),
  { maxLength: 40 },
);

function logOf(scenario: Step[]): Logged[] {
  const log: Logged[] = [];
  const seen = [new ConfigState(), new ConfigState()];
  const read = [0, 0];
  scenario.forEach(({ writer, act }, n) => {
    const state = seen[writer]!;
    const version = state.recordAt('source:s')?.version ?? 0;
    const record: ConfigRecord = {
      format: FORMAT,
      kind: 'source',
      id: 's',
      version: version + 1,
      replaces: version,
      at: AT,
    };
    if (act === 'look') {
      while (read[writer]! < log.length) state.apply(...log[read[writer]!++]!);
    } else if (act === 'tombstone') {
      log.push(['source:s', null]);
    } else {
      log.push([
        'source:s',
        JSON.stringify(
          act === 'put' ? { ...record, data: aSource('s', { name: `n${n}` }) } : record,
        ),
      ]);
    }
  });
  return log;
}

function readAll(log: Logged[]): ConfigState {
  const state = new ConfigState();
  for (const record of log) state.apply(...record);
  return state;
}

function compact(log: Logged[]): Logged[] {
  return log.filter(([key], i) => !log.slice(i + 1).some(([later]) => later === key));
}

describe('two concurrent writers', () => {
  test('leave readers of the whole log with the same state, in any order of their records', () => {
    fc.assert(
      fc.property(steps, fc.nat(), (scenario, cut) => {
        const log = logOf(scenario);
        const early = new ConfigState();
        // One reader reads in two parts, the other in one.
        const at = log.length === 0 ? 0 : cut % log.length;
        for (const record of log.slice(0, at)) early.apply(...record);
        for (const record of log.slice(at)) early.apply(...record);
        expect(early.list('source')).toEqual(readAll(log).list('source'));
      }),
    );
  });

  test('leave readers that start after compaction with the same state, once it is repaired', () => {
    fc.assert(
      fc.property(steps, (scenario) => {
        const log = logOf(scenario);
        const state = readAll(log);
        // As writer.ts does. Two concurrent repairs write the same records.
        for (const key of state.unsettled()) {
          const held = state.recordAt(key);
          const healed = held?.data && {
            ...held,
            version: held.version + 1,
            replaces: held.version,
          };
          for (let healer = 0; healer < 2; healer++) {
            log.push([key, healed ? JSON.stringify(healed) : null]);
          }
        }
        const whole = readAll(log);
        expect(whole.unsettled()).toEqual([]);
        expect(whole.list('source').map((entry) => entry.data)).toEqual(
          state.list('source').map((entry) => entry.data),
        );
        expect(readAll(compact(log)).list('source')).toEqual(whole.list('source'));
      }),
    );
  });
});

describe('the part of config that a service holds', () => {
  const destination = {
    ...aDestination({ id: 'd', sources: ['s'] }),
    webhooks: [
      { id: 'w', url: 'sealed-url', origin: 'https://a.example', headers: { a: 'sealed-header' } },
    ],
    secrets: { current: 'sealed-secret' },
    filter: 'true',
  };

  test('the router holds destinations without URLs and secrets, and the rest of them', () => {
    const state = new ConfigState(PARTS.router);
    put(state, 1, destination);
    expect(JSON.stringify(state.list('destination'))).not.toContain('sealed');
    const { secrets: _, ...routed } = destination;
    expect(state.destinationsOf('s')).toEqual([{ version: 1, data: { ...routed, webhooks: [] } }]);
  });

  test('a repeated record of a trimmed entry is harmless, and another one is not', () => {
    const state = new ConfigState(PARTS.router);
    put(state, 1, destination);
    expect([put(state, 1, destination).kind, state.unsettled()]).toEqual(['ignored', []]);
    put(state, 1, { ...destination, filter: 'false' });
    expect(state.unsettled()).toEqual(['destination:d']);
  });

  test('ingest reads sources alone, and a request for another kind is a mistake', async () => {
    const memory = memoryLog();
    const producer = await memory.kafka.producer({
      maxPendingBytes: 1e6,
      deliveryTimeoutMs: 'retry',
    });
    const log = createLog('test', 'silent');
    const record = (kind: string, data: Source | Destination) => ({
      topic: 'config',
      key: `${kind}:${data.id}`,
      value: JSON.stringify({
        format: FORMAT,
        kind,
        id: data.id,
        version: 1,
        replaces: 0,
        at: AT,
        data,
      }),
    });
    await producer.send([record('source', aSource('s')), record('destination', destination)]);
    const fail = (error: unknown) => {
      throw error;
    };
    const config = await openConfig(memory.kafka, {
      name: 'ingest',
      part: PARTS.ingest!,
      log,
      onFatal: fail,
    });
    expect([config.list('source').length, config.changes]).toEqual([1, 1]);
    expect(() => config.list('destination')).toThrow('does not hold entries of kind destination');
    await config.stop();
  });
});
