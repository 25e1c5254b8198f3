import { type InRecord } from '../../../../shared/kafka/port';
import { type ControlUnderTest, controlUnderTest } from '../../../support/control';
import { memoryLog } from '../../../support/memory-log';

/**
 * A change of a definition writes several records of `config`, and control may be killed after any
 * of them.
 */

const BUYERS = { name: 'Buyers', condition: 'count("Order Completed") > 1' };
const MINUTE = 60_000;

async function begin() {
  const control = await controlUnderTest();
  const destinations = await Promise.all(
    ['A', 'B'].map(async (name) => (await control.destination({ name })).id as string),
  );
  return { control, destinations };
}

const recordsOf = (control: ControlUnderTest) => control.memory.records('config');

/** Returns the sources, connections and definitions of the API. */
async function shown(control: ControlUnderTest) {
  const list = async (path: string) => (await control.get(path)).data as Record<string, unknown>[];
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

/** Starts another control with these records, and lets it repair them. */
async function mended(records: readonly InRecord[]) {
  const control = await controlUnderTest({ memory: memoryLog(records) });
  await control.definitionRepair.poll();
  const before = await shown(control);
  control.clock.now = new Date(control.clock.now.getTime() + MINUTE);
  await control.definitionRepair.poll();
  // The change may still be in progress.
  expect(await shown(control)).toEqual(before);
  control.clock.now = new Date(control.clock.now.getTime() + 5 * MINUTE);
  await control.definitionRepair.poll();
  return shown(control);
}

/** Expects that no source is without its definition, and that every audience has its source. */
function expectWhole({ sources, connected, audiences }: Awaited<ReturnType<typeof shown>>) {
  expect(sources).toEqual(audiences.map(({ source, name }) => ({ id: source, name })));
  expect(connected.flat().every((id) => sources.some((source) => source.id === id))).toBe(true);
}

test.each([
  ['is made', [], 4],
  ['is renamed', [['patch', { name: 'Best', destinations: [] }]], 4],
  ['is deleted', [['delete', undefined]], 4],
] as const)(
  'an interrupted change is harmless at every step and is repaired: an audience %s',
  async (_, changes, count) => {
    const { control, destinations } = await begin();
    let from = recordsOf(control).length;
    const { id } = (await control.call('post', '/audiences').send({ ...BUYERS, destinations }))
      .body as { id: string };
    for (const [method, body] of changes) {
      from = recordsOf(control).length;
      await control.call(method, `/audiences/${id}`).send(body);
    }
    const all = recordsOf(control);
    expect(all.length - from).toBeGreaterThanOrEqual(count);
    for (let end = from; end <= all.length; end++) expectWhole(await mended(all.slice(0, end)));
  },
);

test('a definition without its source gets a new one', async () => {
  const { control, destinations } = await begin();
  const { body } = await control.call('post', '/audiences').send({ ...BUYERS, destinations });
  const without = recordsOf(control).filter(({ key }) => String(key) !== `source:${body.source}`);
  expectWhole(await mended(without));
});

test('a source stays if Kafka did not confirm or reject its definition', async () => {
  const { control } = await begin();
  const made = control
    .call('post', '/audiences')
    .send(BUYERS)
    .then((answer) => answer.status);
  // The source is written, and the next write fails.
  for (
    let i = 0;
    i < 1_000 && recordsOf(control).every(({ key }) => !String(key).startsWith('source:'));
    i++
  ) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  control.memory.failWith(Object.assign(new Error('away'), { retriable: true }));
  expect(await made).toBeGreaterThanOrEqual(500);
  control.memory.failWith(undefined);
  expect((await shown(control)).sources).toHaveLength(1);
  expectWhole(await mended(recordsOf(control)));
});
