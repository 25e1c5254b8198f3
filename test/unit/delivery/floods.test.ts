import { randomBytes } from 'node:crypto';
import { assemble } from '../../../services/delivery/assemble';
import { type Deliverer } from '../../../services/delivery/deliverer';
import { Destinations } from '../../../services/delivery/destinations/destinations';
import { Sender } from '../../../services/delivery/http/client';
import { NameResolver } from '../../../services/delivery/http/resolver';
import { StallClock } from '../../../services/delivery/clock/stall-clock';
import { laneOptions } from '../../../services/delivery/tuning';
import { createEncryptor } from '../../../shared/config/encryption';
import { type ConfigView } from '../../../shared/config/types';
import { ALERTS_ID, type Destination } from '../../../shared/model/config';
import { decodeDelivery, encodeDelivery } from '../../../shared/model/delivery';
import { secretFields } from '../../../shared/model/secret-fields';
import { createLog } from '../../../shared/telemetry/log';
import { eventually } from '../../support/eventually';
import { aDelivery, aDestination, aRecord } from '../../support/factories';
import { fakeProgress, recordingProducer, type RecordingProducer } from '../../support/fakes';
import {
  floodsInterim,
  type RawReceiver,
  startRawReceiver,
  type Treatment,
  writes,
} from '../../support/raw-receiver';

/**
 * Interim responses without end, sent to the parts of delivery together over real sockets: as a
 * failure of the endpoint they open its circuit, and as one of a token endpoint they hold what
 * needs the token.
 */

const TIERS = [60_000];
const TO_OPEN = laneOptions(TIERS).circuit.failuresToOpen;
const MESSAGE = 'the endpoint sent more than 8 interim responses before its answer';

/**
 * A failure after a standstill of this process counts for no circuit, and a busy machine may make
 * one stand still.
 */
class UnstalledClock extends StallClock {
  override stoodStillSince(): boolean {
    return false;
  }
}

const encryptor = createEncryptor([randomBytes(32)]);
let receiver: RawReceiver;
let treatment: Treatment;
let producer: RecordingProducer;
let deliverer: Deliverer;
let destination: Destination;
let close: () => Promise<void>;

beforeEach(async () => {
  receiver = await startRawReceiver(() => treatment);
  producer = recordingProducer();
  const log = createLog('test', 'silent');
  const clock = new UnstalledClock();
  const sender = new Sender({
    timeoutMs: 20_000,
    guard: () => undefined,
    names: new NameResolver(1_000),
    clock,
    mostConnections: 100,
  });
  const config = {
    destination: () => ({ version: 1, data: destination }),
    isUnreadable: () => false,
  } as unknown as ConfigView;
  const delivery = assemble({
    config: fakeProgress(),
    destinations: new Destinations(config, encryptor, log),
    sender,
    producer,
    clock,
    log,
    tiersMs: TIERS,
    windowMs: 3_600_000,
    onRoom: () => undefined,
    onFatal: (error) => {
      throw error;
    },
  });
  ({ deliverer } = delivery);
  close = async () => {
    await receiver.close();
    delivery.stop();
    await sender.close();
    clock.stop();
  };
});
afterEach(() => close());

function urlField(id: string, webhook: string, url: string) {
  return {
    url: encryptor.encrypt(url, secretFields.url(id, webhook)),
    origin: receiver.origin,
    headers: {},
  };
}

let taken = 0;
function take(count: number): void {
  for (let i = 0; i < count; i++) {
    const times = { acceptedAt: Date.now(), expiresAt: Date.now() + 3_600_000 };
    const delivery = aDelivery({
      id: `dlv_${String(++taken)}`,
      destinationId: destination.id,
      ...times,
    });
    const record = aRecord({
      topic: 'webhooks',
      offset: taken,
      timestampMs: Date.now(),
      key: Buffer.from(`${destination.id}:1`),
      headers: encodeDelivery(delivery),
    });
    expect(deliverer.onRecord(record)).toBe('accepted');
  }
}

/** Returns the reasons of the records that went to tiers. */
const waits = () =>
  producer.appends.flat().flatMap(({ headers }) => {
    const decoded = decodeDelivery(headers ?? {});
    return decoded.kind === 'delivery' ? [decoded.delivery.reason] : [];
  });
const events = (kind: string) => producer.values('attempts').filter((event) => event.kind === kind);

test.each([
  ['an endpoint', 'dst_1'],
  ['a URL of alerts', ALERTS_ID],
])('of %s open its circuit, and the rest waits for that', async (_, id) => {
  treatment = floodsInterim;
  const webhook = { id: 'whk_1', ...urlField(id, 'whk_1', `${receiver.origin}/in`) };
  destination = aDestination({ id, webhooks: [webhook] });
  take(TO_OPEN);
  await eventually(() => expect(events('circuit')).toHaveLength(1));
  expect(events('circuit')).toMatchObject([
    { destination: id, url: 'whk_1', state: 'open', why: 'failed' },
  ]);
  const [attempt] = events('attempt');
  expect(attempt).toMatchObject({
    outcome: 'retry',
    urls: [{ error: { code: 'connection', message: MESSAGE } }],
  });
  const asked = receiver.paths.length;
  take(5);
  await eventually(() =>
    expect(waits().filter((reason) => reason === 'circuit_open')).toHaveLength(5),
  );
  expect(receiver.paths).toHaveLength(asked);
});

test('of a token endpoint hold what needs the token, without an attempt', async () => {
  const api = await startRawReceiver(() =>
    writes(['HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok']),
  );
  treatment = floodsInterim;
  const sealed = (value: string, name: string) =>
    encryptor.encrypt(value, secretFields.auth('dst_1', 'whk_1', name));
  destination = aDestination({
    webhooks: [
      {
        id: 'whk_1',
        ...urlField('dst_1', 'whk_1', `${api.origin}/in`),
        origin: api.origin,
        auth: {
          type: 'oauth2',
          tokenUrl: sealed(`${receiver.origin}/token`, 'tokenUrl'),
          tokenOrigin: receiver.origin,
          clientId: 'shop',
          clientSecret: sealed('a secret', 'clientSecret'),
        },
      },
    ],
  });
  take(3);
  await eventually(() => expect(waits()).toEqual(['token', 'token', 'token']));
  expect(JSON.stringify(producer.values('attempts'))).toContain(
    `the token endpoint gave no token: ${MESSAGE}`,
  );
  expect(events('attempt')).toEqual([]);
  expect(receiver.paths).toEqual(['/token']);
  expect(api.paths).toEqual([]);
  await api.close();
});
