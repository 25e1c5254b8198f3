import { once } from 'node:events';
import { HOLD_MS, LOOK_EVERY_MS } from '../../../../services/control/record-format/decide';
import { openConfig } from '../../../../shared/config/reader';
import { type GroupFormats } from '../../../../shared/kafka/port';
import { READS_FORMAT } from '../../../../shared/model/record-format';
import { createLog } from '../../../../shared/telemetry/log';
import { waypost } from '../../../support/cli';
import { type ControlUnderTest, controlUnderTest } from '../../../support/control';

/** The switch for record formats on an in-memory log, through the API and the command line. */

const group = (name: string, reads = READS_FORMAT): GroupFormats => ({
  group: name,
  settled: true,
  members: [{ client: `waypost-${name}`, host: '10.0.0.1', reads }],
});
const NAMES = ['router', 'delivery', 'retry', 'control-history-db1'];
const ALL = NAMES.map((name) => group(name));
const OLD = [...ALL, group('router', 1)];

let control: ControlUnderTest;
beforeEach(async () => {
  control = await controlUnderTest();
  control.memory.setGroups(ALL);
});

const get = async () => (await control.call('get', '/record-format')).body;
const set = (automatic: unknown) => control.call('patch', '/record-format').send({ automatic });
const lookFor = async (ms: number) => {
  const until = control.clock.now.getTime() + ms;
  while (control.clock.now.getTime() <= until) {
    await control.formats.look();
    control.clock.now = new Date(control.clock.now.getTime() + LOOK_EVERY_MS);
  }
};
/** Returns the format that a process writes which reads `config` from its beginning. */
const written = async () => {
  const log = createLog('test', 'silent');
  const config = await openConfig(control.memory.kafka, {
    name: 'test',
    log,
    onFatal: () => undefined,
  });
  const format = config.recordFormat();
  await config.stop();
  return format;
};

test('an old system writes format 1 until all have read the newest for ten minutes', async () => {
  control.memory.setGroups(OLD);
  await lookFor(2 * HOLD_MS);
  expect([await written(), await get()]).toMatchObject([
    1,
    { format: 1, newest: READS_FORMAT, switchesAt: null, version: 0 },
  ]);
  control.memory.setGroups(ALL);
  await lookFor(HOLD_MS - LOOK_EVERY_MS);
  const switchesAt = control.clock.now.toISOString();
  expect([await written(), await get()]).toMatchObject([
    1,
    { format: 1, automatic: true, switchesAt },
  ]);
  await lookFor(0);
  expect([await written(), await get()]).toMatchObject([
    READS_FORMAT,
    { format: READS_FORMAT, automatic: true, switchesAt: null },
  ]);
});

test('a new system writes the newest format at once, and asks Kafka for no groups', async () => {
  control = await controlUnderTest({ isNew: true });
  control.memory.failWith(new Error('asked'));
  await lookFor(HOLD_MS);
  expect(await written()).toBe(READS_FORMAT);
});

test('a format that was switched off stays off until it is automatic again', async () => {
  control = await controlUnderTest({ isNew: true });
  control.memory.setGroups(ALL);
  expect((await set(false)).body).toMatchObject({ format: 1, automatic: false, version: 2 });
  await lookFor(2 * HOLD_MS);
  expect(await written()).toBe(1);
  expect((await set(true)).body).toMatchObject({ format: 1, automatic: true, switchesAt: null });
  await lookFor(HOLD_MS + LOOK_EVERY_MS);
  expect(await written()).toBe(READS_FORMAT);
});

test('two control processes switch a format on once', async () => {
  const other = await controlUnderTest({ memory: control.memory });
  for (const each of [control, other]) each.clock.now = new Date('2026-01-01T00:00:00.000Z');
  const looks = HOLD_MS / LOOK_EVERY_MS + 1;
  for (let i = 0; i < looks; i++) {
    await Promise.allSettled([control.formats.look(), other.formats.look()]);
    for (const each of [control, other]) {
      each.clock.now = new Date(each.clock.now.getTime() + LOOK_EVERY_MS);
    }
  }
  expect([await written(), (await get()).version]).toEqual([READS_FORMAT, 1]);
});

test('the response names processes that hold a format back, and groups without any', async () => {
  control.memory.setGroups(OLD.filter((each) => each.group !== 'retry'));
  expect(await get()).toEqual({
    format: 1,
    newest: READS_FORMAT,
    automatic: true,
    readableSince: null,
    switchesAt: null,
    version: 0,
    settling: [],
    missing: ['retry'],
    members: expect.arrayContaining([
      { group: 'router', client: 'waypost-router', host: '10.0.0.1', reads: 1 },
    ]),
  });
});

test('a change is in the audit trail with its author', async () => {
  await set(false);
  const [record] = control.memory.records('config');
  expect(JSON.parse(record?.headers.note ?? '')).toMatchObject({
    by: { id: 'admin' },
    action: 'created',
    name: 'Record format',
  });
});

test('a change with an old version or with a wrong field is refused', async () => {
  expect((await set('no')).body.errors).toEqual([
    { pointer: '#/automatic', detail: 'must be true or false' },
  ]);
  expect((await set(false).set('If-Match', '"3"')).status).toBe(412);
  expect(await written()).toBe(1);
});

test('the command line shows what holds a format back, and switches it off', async () => {
  control.memory.setGroups(OLD);
  const server = control.app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const env = {
    WAYPOST_URL: `http://127.0.0.1:${String(port)}`,
    WAYPOST_TOKEN: 'planted-admin-token-0123456789',
  };
  const shown = await waypost(['record-format', 'show'], { env });
  const off = await waypost(['record-format', 'off'], { env });
  server.close();
  expect(shown.out).toMatch(
    /older process +waypost-router at 10\.0\.0\.1, group router, reads format 1\n/,
  );
  expect([off.code, off.out]).toEqual([0, expect.stringMatching(/newer formats +off\n/)]);
});
