import pino from 'pino';
import { type Database } from '../../../../services/control/history/database';
import { Forgotten, recordDeletion } from '../../../../services/control/history/deletions';
import { BodyIndex } from '../../../../services/control/search/body-index';
import {
  entriesOf,
  type SearchEntry,
  pack,
  unpack,
} from '../../../../services/control/search/pack-texts';
import {
  addChunks,
  chunksAfter,
  coverageOf,
  markOf,
} from '../../../../services/control/search/store';
import { asShared, endLeases, freezer, memoryDatabase } from '../../../support/database';
import { eventually } from '../../../support/eventually';
import { START } from '../../../support/events';

const DAY_MS = 86_400_000;
let database: Database;

beforeAll(async () => {
  database = await memoryDatabase();
});

beforeEach(async () => {
  await endLeases(database);
  await database.query(`delete from waypost.meta where key like 'search%'`);
});
afterAll(() => database.close());

function aProcess(beforeTransaction?: () => Promise<void>, retentionMs = DAY_MS) {
  const shared = asShared(database, beforeTransaction);
  const forgotten = new Forgotten();
  return new BodyIndex({
    history: {
      forgotten,
      ask: (work) => work(shared),
      learnDeletions: () => forgotten.refresh(asShared(database), START),
    },
    retentionMs,
    maxBytes: 1e9,
    now: () => new Date(START),
    log: pino({ level: 'silent' }),
  });
}

async function add(id: string, user: string): Promise<void> {
  const text = `${user}\nm-1\nOrder\n{}`;
  const entry: SearchEntry = {
    id,
    acceptedAt: START - 1_000,
    source: 'src_1',
    user,
    anonymous: null,
    text,
  };
  const chunks = await pack([entry], 100_000);
  await database.transaction((transaction) => addChunks(transaction, chunks));
}

async function stored(): Promise<string[]> {
  const chunks = await chunksAfter(database, 0, 99);
  const texts = await Promise.all(chunks.map(({ data }) => unpack(data)));
  return texts.flatMap((text) => entriesOf(text).map(({ id }) => id)).sort();
}

test('a process frozen while it merged brings back no text that another one purged', async () => {
  await add('dlv_1', 'jane');
  await add('dlv_2', 'kim');
  const { freeze, frozen, thaw } = freezer();
  const merged = aProcess(freeze).poll();
  await frozen;
  await endLeases(database);
  await recordDeletion(database, {
    id: 'del_1',
    at: START,
    users: ['jane'],
    anonymous: [],
    sources: null,
    affected: [],
    messages: 0,
  });
  await aProcess().poll();
  expect(await stored()).toEqual(['dlv_2']);
  thaw();
  await merged;
  expect(await stored()).toEqual(['dlv_2']);
});

test('once the search is switched off, the texts that it had stored go', async () => {
  await add('dlv_3', 'lee');
  const off = aProcess(undefined, 0);
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
  off.start();
  jest.advanceTimersByTime(5_000);
  jest.useRealTimers();
  await eventually(async () => expect(await stored()).toEqual([]));
  await off.stop();
});

test('a search that now keeps texts longer does not claim those that were dropped', async () => {
  await aProcess(undefined, DAY_MS).poll();
  const position = { partition: 0, next: 1, last: null, sinceMs: 0, readMs: START };
  const droppedTo = await markOf(database, 'search_from');
  const times = { nowMs: START, retentionMs: 5 * DAY_MS };
  expect(coverageOf({ positions: [position], droppedTo }, undefined, times)).toEqual({
    from: START - DAY_MS,
    to: START,
  });
});
