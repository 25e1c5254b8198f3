import { type InRecord } from '../../../../shared/kafka/port';
import { type ControlUnderTest, controlUnderTest } from '../../../support/control';
import { memoryLog } from '../../../support/memory-log';

/** A change of a definition is several records of `config`; control may end after any of them. */

const BUYERS = { name: 'Buyers', condition: 'count("Order Completed") > 1' };
const MINUTE = 60_000;

async function begin() {
  const control = await controlUnderTest();
  const destinations = await Promise.all(
    ['A', 'B'].map(async (name) => {
      const body = { name, type: 'webhooks', sources: [], webhooks: [{ url: 'https://a.example.com/' }] };
      return (await control.call('post', '/destinations').send(body)).body.id as string;
    }),
  );
  return { control, destinations };
}

const recordsOf = (control: ControlUnderTest) => control.memory.records('config');

/** The state of sources, connections and definitions, as the API shows it. */
async function shown(control: ControlUnderTest) {
  const list = async (path: string) => (await control.call('get', path)).body.data as Record<string, unknown>[];
  const [sources, destinations, audiences] = [
    await list('/sources'),
    await list('/destinations'),
    await list('/audiences'),
  ];
  return {
    sources: sources.map(({ id, name }) => ({ id, name })),
    connected: destinations.map((each) => each.sources),
    audiences,
  };
}

/** Another control after those records, and what it has mended by and by. */
async function mended(records: readonly InRecord[]) {
  const control = await controlUnderTest({ memory: memoryLog(records) });
  await control.mending.look();
  const before = await shown(control);
  control.clock.now = new Date(control.clock.now.getTime() + MINUTE);
  await control.mending.look();
  // Somebody may be at it at this moment.
  expect(await shown(control)).toEqual(before);
  control.clock.now = new Date(control.clock.now.getTime() + 5 * MINUTE);
  await control.mending.look();
  return shown(control);
}

/** Nothing belongs to nothing, and every audience is told by its source. */
function expectWhole({ sources, connected, audiences }: Awaited<ReturnType<typeof shown>>) {
  expect(sources).toEqual(audiences.map(({ source, name }) => ({ id: source, name })));
  expect(connected.flat().every((id) => sources.some((source) => source.id === id))).toBe(true);
}

test.each([
  ['is made', [], 4],
  ['is renamed', [['patch', { name: 'Best', destinations: [] }]], 4],
  ['is deleted', [['delete', undefined]], 4],
] as const)('when an audience %s, whatever was written of it is harmless, and mended', async (_, changes, count) => {
  const { control, destinations } = await begin();
  let from = recordsOf(control).length;
  const { id } = (await control.call('post', '/audiences').send({ ...BUYERS, destinations })).body as { id: string };
  for (const [method, body] of changes) {
    from = recordsOf(control).length;
    await control.call(method, `/audiences/${id}`).send(body);
  }
  const all = recordsOf(control);
  expect(all.length - from).toBeGreaterThanOrEqual(count);
  for (let end = from; end <= all.length; end++) expectWhole(await mended(all.slice(0, end)));
});

test('a definition whose source is gone has one again', async () => {
  const { control, destinations } = await begin();
  const { body } = await control.call('post', '/audiences').send({ ...BUYERS, destinations });
  const without = recordsOf(control).filter(({ key }) => String(key) !== `source:${body.source}`);
  expectWhole(await mended(without));
});

test('where Kafka did not answer whether the definition was written, its source stays', async () => {
  const { control } = await begin();
  const made = control
    .call('post', '/audiences')
    .send(BUYERS)
    .then((answer) => answer.status);
  // The source is written, and what follows fails.
  for (let i = 0; i < 1_000 && recordsOf(control).every(({ key }) => !String(key).startsWith('source:')); i++) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  control.memory.failWith(Object.assign(new Error('away'), { retriable: true }));
  expect(await made).toBeGreaterThanOrEqual(500);
  control.memory.failWith(undefined);
  expect((await shown(control)).sources).toHaveLength(1);
  expectWhole(await mended(recordsOf(control)));
});
