import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo } from 'node:net';
import { createEncryptor, type Encryptor } from '../../shared/config/encryption';
import { brokerClock } from '../../shared/kafka/broker-clock';
import { type BatchProducer, type OpenRecord } from '../../shared/kafka/port';
import { WEBHOOKS } from '../../shared/kafka/topics';
import { createAddressGuard } from '../../shared/model/address-guard';
import { type Destination } from '../../shared/model/config';
import { encodeDelivery } from '../../shared/model/delivery';
import { secretFields } from '../../shared/model/secret-fields';
import { type Log } from '../../shared/telemetry/log';
import { StallClock } from './clock/stall-clock';
import { Destinations } from './destinations/destinations';
import { assemble } from './assemble';
import { Sender } from './http/client';
import { NameResolver } from './http/resolver';

/**
 * Delivers made-up webhooks to a server of this process, by the code of real ones, so that V8 has
 * compiled it before the first record. A process that joins a busy group would otherwise take more
 * than twice the CPU for its first thousand webhooks, and make them wait.
 */

/** On Node 24 the first thousand take 0.4 s of CPU, and later ones 0.17. */
export const WEBHOOK_COUNT = 1_000;
/** More than a record of `attempts` gathers before it is written. */
export const AT_ONCE = 250;
/** On a machine without a free core the webhooks do not all end within this time. */
const MOST_MS = 3_000;
/** Longer than a machine without a free core takes: a late response would be a failed attempt. */
const TIMEOUT_MS = 60_000;
const MINUTE_MS = 60_000;
const DESTINATION_ID = 'warm-up';
const WEBHOOK_ID = 'warm-up';
const BODY = JSON.stringify({ event: 'Warmed Up', properties: { text: 'x'.repeat(900) } });

/**
 * Resolves when all of its webhooks have ended; after `mostMs` none begins. The metrics count them,
 * unless it runs within `Metrics.uncounted`.
 * @throws if the server cannot listen
 */
export async function warmUp(log: Log, mostMs = MOST_MS): Promise<void> {
  const until = performance.now() + mostMs;
  const quiet = log.child({}, { level: 'silent' });
  const server = createServer((request, response) =>
    request.resume().on('end', () => response.end('ok')),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const clock = new StallClock();
  const sender = new Sender({
    clock,
    timeoutMs: TIMEOUT_MS,
    guard: createAddressGuard(['127.0.0.0/8']),
    mostConnections: AT_ONCE,
    names: new NameResolver(TIMEOUT_MS),
  });
  const encryptor = createEncryptor([randomBytes(32)]);
  const config = configOf(
    destinationAt(`http://127.0.0.1:${String((server.address() as AddressInfo).port)}`, encryptor),
  );
  let stop = (): void => undefined;
  try {
    await new Promise<void>((resolve, reject) => {
      const delivery = assemble({
        config,
        destinations: new Destinations(config, encryptor, quiet),
        sender,
        producer: NOWHERE,
        clock,
        log: quiet,
        tiersMs: [MINUTE_MS],
        windowMs: MINUTE_MS,
        onRoom: () => undefined,
        onFatal: reject,
      });
      stop = () => delivery.stop();
      let given = 0;
      let open = 0;
      const give = () => {
        open++;
        delivery.deliverer.onRecord(recordOf(given++, onDone));
      };
      const onDone = () => {
        open--;
        if (given < WEBHOOK_COUNT && performance.now() < until) give();
        else if (open === 0) resolve();
      };
      for (let i = 0; i < AT_ONCE; i++) give();
    });
  } finally {
    stop();
    await sender.close();
    clock.stop();
    server.close();
    server.closeAllConnections();
  }
}

/** Acknowledges records without keeping them. */
const NOWHERE: BatchProducer = {
  pendingBytes: 0,
  oldestPendingAt: undefined,
  send: () => Promise.resolve(),
  close: () => Promise.resolve(),
};

function destinationAt(origin: string, encryptor: Encryptor): Destination {
  const now = new Date().toISOString();
  return {
    id: DESTINATION_ID,
    name: DESTINATION_ID,
    type: 'webhooks',
    enabled: true,
    paused: false,
    sources: [],
    webhooks: [
      {
        id: WEBHOOK_ID,
        url: encryptor.encrypt(`${origin}/`, secretFields.url(DESTINATION_ID, WEBHOOK_ID)),
        origin,
        headers: {},
      },
    ],
    secrets: {
      current: encryptor.encrypt(
        `whsec_${randomBytes(24).toString('base64')}`,
        secretFields.sharedSecret(DESTINATION_ID),
      ),
    },
    createdAt: now,
    updatedAt: now,
  };
}

function configOf(destination: Destination) {
  const entry = { version: 1, data: destination };
  return {
    completeAt: Infinity,
    changes: 1,
    expectSoon: () => undefined,
    onComplete: () => undefined,
    destination: () => entry,
    isUnreadable: () => false,
  };
}

function recordOf(n: number, done: () => void): OpenRecord {
  const now = brokerClock.now();
  const id = `warm-up-${String(n)}`;
  const headers = encodeDelivery({
    id,
    messageId: id,
    sourceId: 'warm-up',
    destinationId: DESTINATION_ID,
    type: 'track',
    event: 'Warmed Up',
    userId: id,
    acceptedAt: now,
    expiresAt: now + MINUTE_MS,
    attempt: 0,
    hop: 0,
    replay: 0,
    excludedUrls: [],
    traceparent: `00-${randomBytes(16).toString('hex')}-${randomBytes(8).toString('hex')}-00`,
  });
  return {
    topic: WEBHOOKS,
    partition: 0,
    offset: n,
    epoch: 0,
    timestampMs: now,
    headers,
    isRevoking: false,
    isInDoubt: false,
    done,
    key: Buffer.from('warm-up:0'),
    value: Buffer.from(BODY),
    handBack: () => false,
    defer: () => undefined,
  };
}
