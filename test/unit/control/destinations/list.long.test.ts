import { type Database } from '../../../../services/control/history/database';
import { addEventNames } from '../../../../services/control/sources/store';
import { storeEvidence } from '../../../../services/control/health/store';
import { type ControlUnderTest, controlUnderTest } from '../../../support/control';
import { memoryDatabase } from '../../../support/database';
import { aDeath, aFailure, anEvent, at } from '../../../support/events';
import { eventually } from '../../../support/eventually';
import { storeEvents } from '../../../support/store-events';
import { defined } from '../../../../shared/collections/defined';
import { FORMAT_HEADER } from '../../../../shared/model/record-format';

/** The lists of destinations and of sources: found by name and state, sorted, in pages. */

let database: Database;
let control: ControlUnderTest;
const ids: Record<string, string> = {};
beforeAll(async () => {
  database = await memoryDatabase();
  control = await controlUnderTest({ database });
  control.clock.now = new Date(at(60));
  for (const name of ['Zebra', 'äther', 'Alpha 2', 'alpha 10', 'Beta', 'Beta']) {
    const { id } = await control.destination({ name, enabled: name !== 'Zebra' });
    ids[name] ??= id as string;
  }
  const lost = (n: number) =>
    aDeath({ delivery: `dlv_${String(n)}`, destination: ids['Alpha 2']!, at: at(n) });
  const waits = aFailure({ delivery: 'dlv_w', destination: ids.Beta!, nextAttemptAt: at(90) });
  const events = [lost(1), lost(2), waits, anEvent({ delivery: 'dlv_d', destination: ids.äther! })];
  await storeEvents(database, events);
  await database.transaction((queries) =>
    storeEvidence(queries, [{ kind: 'ok', destination: ids.äther!, at: Date.parse(at(9)) }]),
  );
  for (const source of [{ name: 'Shop' }, { name: 'App', enabled: false }]) {
    ids[source.name] = (await control.call('post', '/sources').send(source)).body.id as string;
  }
});
afterAll(() => database.close());

const names = async (path: string): Promise<string[]> => {
  const { status, body } = await control.call('get', path);
  expect([path, status]).toEqual([path, 200]);
  return (body.data as { name: string }[]).map(({ name }) => name);
};
/** Reads all pages of two. */
async function paged(path: string): Promise<string[]> {
  const all: string[] = [];
  for (let after = ''; ;) {
    const { body } = await control.call('get', `${path}&limit=2${after}`);
    all.push(...(body.data as { name: string }[]).map(({ name }) => name));
    if (body.next === null) return all;
    after = `&after=${String(body.next)}`;
  }
}

const BY_NAME = ['alpha 10', 'Alpha 2', 'äther', 'Beta', 'Beta', 'Zebra'];
test('names are sorted without regard to case and accents, up and down, in pages', async () => {
  expect(await names('/destinations?sort=name')).toEqual(BY_NAME);
  expect(await paged('/destinations?sort=name')).toEqual(BY_NAME);
  expect(await paged('/destinations?sort=-name')).toEqual(BY_NAME.toReversed());
});

test('a part of the name or id finds a destination, and total counts what is found', async () => {
  expect(await paged('/destinations?q=ALPHA&sort=name')).toEqual(['alpha 10', 'Alpha 2']);
  expect((await names('/destinations?q=alpha')).toSorted()).toEqual(['Alpha 2', 'alpha 10']);
  expect(await names(`/destinations?q=${ids.Zebra!.slice(4)}`)).toEqual(['Zebra']);
  expect((await control.get('/destinations?q=beta&total=true')).total).toEqual({
    count: 2,
    exact: true,
  });
});

test('a state finds the destinations that the overview shows in it', async () => {
  const { body } = await control.call('get', '/overview');
  const rows = body.data as { name: string; state: string }[];
  for (const state of ['healthy', 'degraded', 'failing', 'paused', 'off', 'idle']) {
    const expected = rows.filter((row) => row.state === state).map(({ name }) => name);
    expect((await paged(`/destinations?state=${state}&sort=name`)).toSorted()).toEqual(
      expected.toSorted(),
    );
  }
  expect(await names('/destinations?state=off')).toEqual(['Zebra']);
});

test('whoever loses, waits or was served last comes first', async () => {
  expect((await paged('/destinations?sort=-dead'))[0]).toBe('Alpha 2');
  expect((await paged('/destinations?sort=-waiting'))[0]).toBe('Beta');
  expect((await paged('/destinations?sort=-lastDelivery'))[0]).toBe('äther');
  const { body } = await control.call('get', '/overview');
  const rows = body.data as { destination: string; state: string }[];
  const stateOf = new Map(rows.map(({ destination, state }) => [destination, state]));
  const sorted = await control.call('get', '/destinations?sort=state');
  const states = (sorted.body.data as { id: string }[]).map(({ id }) => stateOf.get(id)!);
  expect(new Set(states).size).toBeGreaterThan(2);
  expect(states).toEqual(states.toSorted());
});

test('an unknown order and a cursor of nothing are refused', async () => {
  const status = async (query: string) =>
    (await control.call('get', `/destinations?${query}`)).status;
  expect(await status('sort=colour')).toBe(422);
  expect(await status('sort=name&after=bm9uZQ')).toBe(422);
});

test.each([
  ['sort=name', 'sort=-name'],
  ['sort=name', 'sort=-dead'],
  ['sort=name', ''],
  ['sort=name', 'state=off'],
  ['', 'sort=name'],
])('the next page of "%s" is not that of "%s"', async (one, other) => {
  for (const list of ['destinations', 'sources']) {
    const isSorted = other.startsWith('sort');
    const wanted = isSorted && list === 'sources' ? other.replace('dead', 'lastCall') : other;
    const first = await control.get(`/${list}?limit=1&${one}`);
    expect(first.next).not.toBeNull();
    const { status, body } = await control.call(
      'get',
      `/${list}?${wanted.replace('off', list === 'sources' ? 'disabled' : 'off')}&after=${String(first.next)}`,
    );
    expect([status, body.errors]).toEqual([
      422,
      [
        {
          parameter: 'after',
          detail: expect.stringContaining(one === '' ? 'previous page' : 'another `sort`'),
        },
      ],
    ]);
  }
});

test('sources are found by name and state, and sorted by name or by their last call', async () => {
  expect(await names('/sources?state=disabled')).toEqual(['App']);
  expect(await paged('/sources?sort=name')).toEqual(['App', 'Shop']);
  expect(await names('/sources?q=sho&state=enabled')).toEqual(['Shop']);
  const called = (name: string, lastAt: number) => {
    const event = { source: ids[name]!, name: '', count: 1, lastAt };
    return database.transaction((transaction) => addEventNames(transaction, [event]));
  };
  await called('Shop', 1);
  expect(await paged('/sources?sort=-lastCall')).toEqual(['Shop', 'App']);
  await called('App', 2);
  expect(await paged('/sources?sort=-lastCall')).toEqual(['App', 'Shop']);
  expect(await paged('/sources?sort=lastCall')).toEqual(['Shop', 'App']);
});

test('sources tell what they send and to how many, and a source finds destinations', async () => {
  const event = { source: ids.Shop!, name: 'Order', count: 3, lastAt: Date.parse(at(7)) };
  await database.transaction((transaction) => addEventNames(transaction, [event]));
  const beta = control.call('patch', `/destinations/${ids.Beta!}`);
  expect((await beta.send({ sources: [ids.Shop!] })).status).toBe(200);
  expect(await names(`/destinations?source=${ids.Shop!}`)).toEqual(['Beta']);
  expect(await names(`/destinations?source=${ids.App!}&sort=name`)).toEqual([]);
  const call = (topic: string, count?: string) => ({
    topic,
    key: ids.Shop!,
    value: '{}',
    headers: { format: FORMAT_HEADER, source: ids.Shop!, ...defined({ count }) },
  });
  const rejected = 'messages.rejected';
  control.memory.append([call('messages'), call(rejected), call(rejected, '2000')]);
  await eventually(async () => {
    const { body } = await control.call('get', '/sources?sort=-name&activity=true');
    expect((body.data as { activity: unknown }[]).map(({ activity }) => activity)).toMatchObject([
      { calls: 4, lastCallAt: at(7), recent: { accepted: 1, rejected: 2_001 }, destinations: 1 },
      { calls: 1, destinations: 0 },
    ]);
  });
  const { body: last } = await control.call('get', `/events?source=${ids.Shop!}`);
  const { body: sources } = await control.call('get', '/sources?sort=-name&activity=true');
  expect(
    (sources.data as { activity: { recent: object } }[]).map(({ activity }) => activity.recent),
  ).toMatchObject([{ since: last.data.at(-1).at }, { since: null }]);
  const { body: without } = await control.call('get', '/sources');
  expect(without.data[0]).not.toHaveProperty('activity');
});
