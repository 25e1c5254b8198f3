import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { decide } from '../../services/router/decide';
import { type Router } from '../../services/router/router';
import { startRouter } from '../../services/router/assemble';
import { openConfig } from '../../shared/config/reader';
import { createAuthenticator } from '../../shared/config/authentication';
import { createEncryptor } from '../../shared/config/encryption';
import { secretFields } from '../../shared/model/secret-fields';
import { openWriter } from '../../shared/config/writer';
import { type Destination } from '../../shared/model/config';
import { readMessageHeaders } from '../../shared/model/message-codec';
import { connectKafka } from '../../shared/kafka/client/client';
import { type Kafka, type Tail } from '../../shared/kafka/port';
import { ATTEMPTS, MESSAGES } from '../../shared/kafka/topics';
import { readEvents } from '../../shared/model/attempt-rows';
import { loadSettings } from '../../shared/runtime/settings';
import { createLog } from '../../shared/telemetry/log';
import { startDelivery } from '../support/deliverer';
import { eventually } from '../support/eventually';
import { aSource } from '../support/fakes';
import { type Sink, startSink } from '../../tools/harness/sink';
import { aDestination } from '../support/factories';
import { FORMAT_HEADER } from '../../shared/model/record-format';

/**
 * Router and delivery that read each change of `config` three seconds after control has written it.
 */

const LATE_MS = 3_000;
const AT = new Date().toISOString();
const log = createLog('test', 'silent');
const onFatal = (error: unknown) => {
  throw error;
};
const settings = loadSettings({
  KAFKA_BROKERS: process.env.KAFKA_BROKERS,
  WAYPOST_TOPIC_PREFIX: `late-${randomUUID().slice(0, 8)}.`,
  WAYPOST_PARTITIONS: '2',
  WAYPOST_REPLICATION: '1',
});
const secretKeys = [randomBytes(32)];
const encryptor = createEncryptor(secretKeys);
const authenticator = createAuthenticator(secretKeys);

let sink: Sink;
let control: Awaited<ReturnType<typeof openControl>>;
const opened: Kafka[] = [];
const closing: (() => Promise<unknown>)[] = [];
beforeAll(async () => {
  sink = await startSink();
  control = await openControl();
}, 240_000);
afterAll(async () => {
  for (const close of closing.reverse()) await close();
  await Promise.all(opened.map((kafka) => kafka.close()));
  await sink.close();
});

async function connect(): Promise<Kafka> {
  const kafka = await connectKafka(settings, { clientId: 'test', log });
  opened.push(kafka);
  return kafka;
}

/** Wraps Kafka so that tails deliver records, and report completeness, three seconds late. */
function late(kafka: Kafka): Kafka {
  const tail = async (options: Parameters<Kafka['tail']>[0]): Promise<Tail> => {
    let completeAt = -Infinity;
    const inner: Tail = await kafka.tail({
      ...options,
      onRecord: (record) => void setTimeout(() => options.onRecord(record), LATE_MS),
      onComplete: () => {
        const at = inner.completeAt;
        setTimeout(() => {
          completeAt = at;
          options.onComplete?.();
        }, LATE_MS);
      },
    });
    return {
      get completeAt() {
        return completeAt;
      },
      expectSoon: () => inner.expectSoon(),
      stuck: () => inner.stuck(),
      caughtUp: (deadlineMs) => inner.caughtUp(deadlineMs).then(() => pause(LATE_MS)),
      stop: () => inner.stop(),
    };
  };
  return { ...kafka, tail };
}

function aDestinationAt(path: string, id: string, over: Partial<Destination> = {}): Destination {
  const url = sink.url(path);
  const webhook = {
    id: `wh_${id}`,
    url: encryptor.encrypt(url, secretFields.url(id, `wh_${id}`)),
    origin: new URL(url).origin,
    headers: {},
  };
  return aDestination({ id, name: id, webhooks: [webhook], ...over });
}

async function openControl() {
  const kafka = await connect();
  const config = await openConfig(kafka, { name: 'control', authenticator, log, onFatal });
  const producer = await kafka.producer({ maxPendingBytes: 1e9, deliveryTimeoutMs: 'retry' });
  const writer = openWriter({ config, producer, authenticator, log, now: () => new Date() });
  closing.push(() => Promise.all([producer.close(1_000), config.stop()]));
  return { config, producer, writer };
}

async function openRouter(): Promise<Router> {
  const kafka = late(await connect());
  const config = await openConfig(kafka, { name: 'router', log, onFatal });
  const producer = await kafka.producer({ maxPendingBytes: Infinity, deliveryTimeoutMs: 'retry' });
  const { router, consumption } = await startRouter({
    kafka,
    config,
    producer,
    windowMs: 3_600_000,
    log,
    onFatal,
  });
  closing.push(async () => {
    await consumption.stop(10_000);
    await Promise.all([producer.close(1_000), config.stop()]);
  });
  return router;
}

let delivery: Promise<void> | undefined;
/** Starts delivery for the first test that needs it. */
function withDelivery(): Promise<void> {
  return (delivery ??= startLateDelivery());
}

async function startLateDelivery(): Promise<void> {
  const running = await startDelivery(late(await connect()), { encryptor, log, onFatal });
  closing.push(() => running.stop());
}

const write = (destination: Destination, replaces: number) =>
  control.writer.write('destination', destination.id, destination, { replaces });
const trackCall = (messageId: string) =>
  JSON.stringify({
    type: 'track',
    event: 'e',
    messageId,
    userId: 'u1',
    timestamp: AT,
    receivedAt: AT,
  });
const headersOf = (source: string, message: string) => ({
  format: FORMAT_HEADER,
  source,
  message,
  'accepted-at': String(Date.now()),
});
const pathsOf = () => sink.requests.map(({ path }) => path).sort();

test('calls reach a new, enabled or corrected destination not yet read by delivery', async () => {
  await control.writer.write('source', 'src_1', aSource(), { replaces: 0 });
  await write(aDestinationAt('/switched', 'dst_switched', { enabled: false }), 0);
  await write(aDestinationAt('/old', 'dst_corrected'), 0);
  await withDelivery();
  const events: { kind: string }[] = [];
  const tail = await (
    await connect()
  ).tail({
    name: 'test',
    topic: ATTEMPTS,
    from: 'beginning',
    onFatal,
    onRecord: ({ value }) => events.push(...readEvents(value)),
  });
  closing.push(() => tail.stop());

  await write(aDestinationAt('/made', 'dst_made'), 0);
  await write(aDestinationAt('/switched', 'dst_switched'), 1);
  await write(aDestinationAt('/corrected', 'dst_corrected'), 1);
  const head = readMessageHeaders(headersOf('src_1', 'm1'));
  if (head.kind !== 'message') throw new Error(head.kind);
  const routed = decide(
    head,
    { key: null, value: Buffer.from(trackCall('m1')) },
    { config: control.config, windowMs: 3_600_000 },
  );
  if (routed.kind !== 'deliver') throw new Error(routed.kind);
  await control.producer.send(routed.records);

  await eventually(() => expect(events).toHaveLength(3), { deadlineMs: 90_000 });
  expect(events.map(({ kind }) => kind)).toEqual(['attempt', 'attempt', 'attempt']);
  expect(pathsOf()).toEqual(['/corrected', '/made', '/switched']);
}, 240_000);

test('calls arrive that the router reads before their source or destination', async () => {
  sink.requests.length = 0;
  const isNew = { sources: ['src_new'] };
  await control.writer.write('source', 'src_old', aSource({ id: 'src_old' }), { replaces: 0 });
  await control.writer.write('source', 'src_off', aSource({ id: 'src_off', enabled: false }), {
    replaces: 0,
  });
  await write(aDestinationAt('/off-before', 'dst_off', { sources: ['src_off'] }), 0);
  const [router] = await Promise.all([openRouter(), withDelivery()]);

  await control.writer.write('source', 'src_new', aSource({ id: 'src_new' }), { replaces: 0 });
  await write(aDestinationAt('/source-made', 'dst_of_new', isNew), 0);
  await write(aDestinationAt('/destination-made', 'dst_of_old', { sources: ['src_old'] }), 0);
  await control.writer.write('source', 'src_off', aSource({ id: 'src_off' }), { replaces: 1 });
  const calls = ['src_new', 'src_old', 'src_off', 'src_without'].map((source) => ({
    topic: MESSAGES,
    key: `${source}:u1`,
    value: trackCall(`m-${source}`),
    headers: headersOf(source, `m-${source}`),
  }));
  await control.producer.send(calls);

  await eventually(
    () => expect(pathsOf()).toEqual(['/destination-made', '/off-before', '/source-made']),
    {
      deadlineMs: 90_000,
    },
  );
  // Only the call of a source that does not exist is dropped.
  await eventually(() =>
    expect(router.counts).toMatchObject({ routed: 3, deliveries: 3, dropped: 1, rejected: 0 }),
  );
}, 240_000);

test('a call that ingest took after a second destination was made goes to both', async () => {
  sink.requests.length = 0;
  const sources = ['src_two'];
  await control.writer.write('source', 'src_two', aSource({ id: 'src_two' }), { replaces: 0 });
  await write(aDestinationAt('/known', 'dst_known', { sources }), 0);
  await Promise.all([openRouter(), withDelivery()]);
  await write(aDestinationAt('/later', 'dst_later', { sources }), 0);
  await control.config.refresh(60_000);
  const call = (message: string, config: number) => ({
    topic: MESSAGES,
    key: 'src_two:u1',
    value: trackCall(message),
    headers: { ...headersOf('src_two', message), config: String(config) },
  });
  await control.producer.send([
    call('m-both', control.config.position),
    // As if `config` had been cut since: nothing will ever reach this position.
    call('m-cut', control.config.position + 1_000),
  ]);
  await eventually(() => expect(pathsOf()).toEqual(['/known', '/known', '/later', '/later']), {
    deadlineMs: 90_000,
  });
}, 240_000);
