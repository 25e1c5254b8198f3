import pino from 'pino';
import { type Database } from '../../../../services/control/history/database';
import { Forgotten, recordDeletion } from '../../../../services/control/history/deletions';
import { BodyIndex } from '../../../../services/control/search/body-index';
import { entriesOf, type Entry, pack, unpack } from '../../../../services/control/search/chunk';
import { addChunks, chunksAfter } from '../../../../services/control/search/store';
import { asShared, endLeases, freezer, memoryDatabase } from '../../../support/database';
import { START } from '../../../support/events';

let database: Database;

beforeAll(async () => {
  database = await memoryDatabase();
});

afterAll(() => database.close());

function aProcess(beforeTransaction?: () => Promise<void>) {
  const shared = asShared(database, beforeTransaction);
  const forgotten = new Forgotten();
  return new BodyIndex({
    history: {
      forgotten,
      ask: (work) => work(shared),
      learnDeletions: () => forgotten.refresh(asShared(database), START),
    },
    retentionMs: 86_400_000,
    maxBytes: 1e9,
    now: () => new Date(START),
    log: pino({ level: 'silent' }),
  });
}

async function add(id: string, user: string): Promise<void> {
  const text = `${user}\nm-1\nOrder\n{}`;
  const entry: Entry = {
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

test('a process that was frozen while it merged brings back no text that another one purged', async () => {
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
