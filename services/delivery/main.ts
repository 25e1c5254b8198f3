import { createAuthenticator } from '../../shared/config/authentication';
import { watchKey, createEncryptor } from '../../shared/config/encryption';
import { createAddressGuard } from '../../shared/model/address-guard';
import { shardKeys } from '../../shared/model/delivery';
import { ConsumerHealth } from '../../shared/runtime/health';
import { brokerClock } from '../../shared/kafka/broker-clock';
import { type BatchProducer, type Consumption } from '../../shared/kafka/port';
import { DUE, WEBHOOKS } from '../../shared/kafka/topics';
import { runService } from '../../shared/runtime/run';
import { requireSecretKeys, type Settings } from '../../shared/runtime/settings';
import { NameResolver } from './http/resolver';
import { Deliverer } from './deliverer';
import { keepLaneMs, laneOptions, LIMITS, mostConnections, SOCKETS } from './tuning';
import { readProcessLimits } from './process-limits';
import { LaneRegistry } from './lanes/registry';
import { deliveryMetrics, observeDelivery } from './telemetry/metrics';
import { certificateRecord, circuitRecord } from './decisions/side-events';
import { CertificateWatch } from './http/certificate-watch';
import { Sender } from './http/client';
import { MailSender } from './http/mail';
import { Proxies } from './http/proxies';
import { AuthorizingSender } from './tokens/authorizing-sender';
import { Destinations } from './destinations/destinations';
import { type Lookup } from './destinations/endpoint';
import { Recoveries } from './recoveries';
import { warmUp } from './warm-up';
import { StallClock } from './clock/stall-clock';
import { systemClock } from './clock/clock';
import { circuitChanged } from './telemetry/telemetry';

/** Sends each delivery to each of its open URLs, and writes the results to Kafka. */

const ROOM_EVERY_MS = 50;
/** Linger for records of attempts. Only offset commits wait for these writes. */
const LINGER_MS = 20;
/**
 * Linger for diverted deliveries, which wait for seconds anyway and would lose no attempt. Each
 * request to each partition of each tier costs the broker and this process several times as much as
 * one more record, and diversions peak when many endpoints have just gone away.
 */
const DIVERT_LINGER_MS = 100;

/**
 * Time that a stopping process needs beside its longest request: to write, to commit, and to leave
 * its group.
 */
const LEAVING_MS = 7_000;
const DRAINED_MS = 1_000;

runService(
  'delivery',
  async ({ settings, log, onFatal, connect, openConfig, onStop, stopWithin }) => {
    const secretKeys = requireSecretKeys(settings);
    const encryptor = createEncryptor(secretKeys);
    const {
      WAYPOST_TIMEOUT: timeoutMs,
      WAYPOST_RETRY_DELAYS: tiersMs,
      WAYPOST_RETRY_WINDOW: windowMs,
    } = settings;
    let consumption: Consumption | undefined = undefined;
    const health = new ConsumerHealth(() => consumption);
    const kafka = await connect(health);
    const config = await openConfig(createAuthenticator(secretKeys));
    health.trouble = watchKey(config, encryptor, log);
    // For the records of steps. The producers retry without end and never refuse a record: the
    // Deliverer's own limits bound them.
    const appends = {
      maxPendingBytes: Infinity,
      deliveryTimeoutMs: 'retry',
      divert: true,
    } as const;
    const producer = await kafka.producer({ ...appends, lingerMs: LINGER_MS });
    const divertProducer = await kafka.producer({
      ...appends,
      lingerMs: Math.min(DIVERT_LINGER_MS, Math.min(...tiersMs) / 10),
    });
    onStop(() => Promise.all([producer.close(1_000), divertProducer.close(1_000)]));
    const clock = new StallClock();
    onStop(() => clock.stop());
    const sender = openSender(settings, clock, producer);
    const proxies = new Proxies({
      usual: settings.WAYPOST_EGRESS_PROXY,
      now: () => clock.now(),
      log,
    });
    // Requests still open after another URL's 2xx are recorded too.
    onStop(() => sender.close());
    stopWithin(() => sender.longestTimeoutMs + LEAVING_MS);
    const mail =
      settings.WAYPOST_SMTP_URL === undefined
        ? undefined
        : new MailSender(settings.WAYPOST_SMTP_URL);
    onStop(() => mail?.close());
    const authorizing = new AuthorizingSender(sender, log, {
      onRecovered: (id) => recoveries.recovered(destinations.lookup(id), 'token'),
      uses: (id, key) => usesCredential(destinations.lookup(id), key),
    });
    onStop(() => authorizing.stop());
    const owns = (key: string) => consumption?.owns(WEBHOOKS, key) ?? false;
    const recoveries = new Recoveries({ producer, owns, time: systemClock });
    const destinations = new Destinations(config, encryptor, log, proxies);
    const lanes = new LaneRegistry({
      lane: laneOptions(tiersMs),
      pool: SOCKETS,
      keepMs: keepLaneMs(tiersMs),
      clock,
      // A process may use the part of a rate that corresponds to its part of the destination's
      // shards.
      rateShare: (id, shards) => shareOf(shardKeys(id, shards), consumption),
      onCircuit: (turn) => {
        recoveries.turned(turn);
        circuitChanged(log, turn);
        producer.send([circuitRecord(turn, brokerClock.now())]).catch(() => undefined);
      },
    });
    onStop(() => lanes.stop());
    const deliverer = new Deliverer({
      config,
      destinations,
      lanes,
      producer,
      divertProducer,
      tiersMs,
      windowMs,
      log,
      onFatal,
      sender: mail ? withMail(authorizing, mail) : authorizing,
      limits: LIMITS,
      onRoom: () => consumption?.resume(),
      onRecovered: (id, reason) => recoveries.arrived(id, destinations.lookup(id), reason),
    });
    observeDelivery({ deliverer, lanes, sender, sockets: SOCKETS.total });
    const roomTimer = setInterval(() => deliverer.makeRoom(), ROOM_EVERY_MS);
    onStop(() => {
      clearInterval(roomTimer);
      deliverer.stop();
    });
    consumption = await kafka.consume({
      group: 'delivery',
      topics: [WEBHOOKS, DUE],
      onRecord: deliverer.onRecord.bind(deliverer),
      onRevoking: () => deliverer.onRevoking(),
      onFatal,
    });
    onStop((deadlineMs) => {
      // Requests in flight may take as long as the longest timeout. No other request begins, so
      // requests that outlast their records end within the same time.
      const drainMs = sender.longestTimeoutMs + DRAINED_MS;
      return consumption.stop(Math.max(drainMs, deadlineMs - timeoutMs - 2_000));
    });
  },
  warmUp,
);

/** Sends to mailboxes by SMTP, and to URLs by HTTP. */
function withMail(
  sender: AuthorizingSender,
  mail: MailSender,
): Pick<AuthorizingSender, 'send' | 'held'> {
  return {
    send: (request, done) => (MailSender.takes(request) ? mail : sender).send(request, done),
    held: (credentials, insists) => sender.held(credentials, insists),
  };
}

function openSender(settings: Settings, clock: StallClock, producer: BatchProducer): Sender {
  const certificates = new CertificateWatch((seen) => {
    producer.send([certificateRecord(seen, brokerClock.now())]).catch(() => undefined);
  });
  const {
    WAYPOST_TIMEOUT: timeoutMs,
    WAYPOST_DNS_SERVERS,
    WAYPOST_ALLOWED_PORTS: ports,
  } = settings;
  const guard = createAddressGuard(
    settings.WAYPOST_ALLOWED_NETWORKS,
    settings.WAYPOST_FORBIDDEN_NETWORKS,
  );
  const names = new NameResolver(timeoutMs, WAYPOST_DNS_SERVERS);
  const { handshakes } = deliveryMetrics;
  return new Sender({
    timeoutMs,
    guard,
    names,
    clock,
    certificates,
    isPortAllowed: (port) =>
      ports.length === 0 || ports.some(([from, to]) => from <= port && port <= to),
    proxyResolves: settings.WAYPOST_PROXY_RESOLVES,
    mostConnections: mostConnections(readProcessLimits()),
    onHandshake: (resumed) => handshakes[resumed ? 'resumed' : 'full'].value++,
    onUnasked: () => deliveryMetrics.oddities.extra_bytes.value++,
  });
}

/** Returns whether a webhook of a destination has the credential with this key. */
function usesCredential(lookup: Lookup, key: string): boolean {
  return (
    lookup.kind === 'open' &&
    lookup.destination.endpoints.some(({ auth }) => auth?.credentials?.key === key)
  );
}

/**
 * Returns the owned part of these shards, at least one: records read before their partition moved
 * are still sent.
 */
function shareOf(keys: string[], consumption: Consumption | undefined): number {
  const owned = keys.filter((key) => consumption?.owns(WEBHOOKS, key));
  return Math.max(1, owned.length) / keys.length;
}
