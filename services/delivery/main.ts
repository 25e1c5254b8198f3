import { createAuthenticator } from '../../shared/config/authentication';
import { watchKey, createEncryptor } from '../../shared/config/encryption';
import { createAddressGuard } from '../../shared/model/address-guard';
import { withTimeout } from '../../shared/runtime/async';
import { ConsumerHealth } from '../../shared/runtime/health';
import { brokerClock, CLOCK_WITHIN_MS } from '../../shared/kafka/broker-clock';
import {
  type BatchProducer,
  type BatchProducerOptions,
  type Consumption,
} from '../../shared/kafka/port';
import { clockNote, DUE, WEBHOOKS } from '../../shared/kafka/topics';
import { type ProcessLimits } from '../../shared/runtime/process-limits';
import { runService } from '../../shared/runtime/run';
import { requireSecretKeys, type Settings } from '../../shared/runtime/settings';
import { NameResolver } from './http/resolver';
import { assemble } from './assemble';
import { mostConnections, SOCKETS } from './tuning';
import { deliveryMetrics, observeDelivery } from './telemetry/metrics';
import { certificateRecord } from './decisions/side-events';
import { CertificateWatch } from './http/certificate-watch';
import { Sender } from './http/client';
import { MailSender } from './http/mail';
import { Proxies } from './http/proxies';
import { Destinations } from './destinations/destinations';
import { warmUp } from './warm-up';
import { systemClock } from './clock/clock';
import { StallClock } from './clock/stall-clock';

/** Sends each delivery to each of its open URLs, and writes the results to Kafka. */

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
  async ({
    settings,
    limits,
    log,
    onFatal,
    connect,
    openConfig,
    openDeletions,
    onStop,
    stopWithin,
  }) => {
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
    const deletions = await openDeletions();
    health.trouble = watchKey(config, encryptor, log);
    // For the records of steps. The producers retry without end and never refuse a record: the
    // Deliverer's own limits bound them.
    const appends: BatchProducerOptions = {
      maxPendingBytes: Infinity,
      deliveryTimeoutMs: 'retry',
      spillToOtherPartitions: true,
    };
    const producer = await kafka.producer({ ...appends, lingerMs: LINGER_MS });
    const divertProducer = await kafka.producer({
      ...appends,
      lingerMs: Math.min(DIVERT_LINGER_MS, Math.min(...tiersMs) / 10),
    });
    onStop(() => Promise.all([producer.close(1_000), divertProducer.close(1_000)]));
    const clock = new StallClock(systemClock, limits.cores);
    onStop(() => clock.stop());
    const sender = openSender({ settings, limits, clock, producer });
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
    const destinations = new Destinations(config, encryptor, log, proxies);
    const delivery = assemble({
      config,
      deletions,
      destinations,
      sender,
      mail,
      producer,
      divertProducer,
      clock,
      log,
      tiersMs,
      windowMs,
      owns: (key) => consumption?.owns(WEBHOOKS, key) ?? false,
      onRoom: () => consumption?.resume(),
      onFatal,
    });
    onStop(() => delivery.stop());
    // So that the end of their pause is noticed.
    for (const { data } of config.list('destination')) {
      if (data.paused) destinations.lookup(data.id);
    }
    config.onChange(({ kind, id }) => {
      if (kind !== 'destination') return;
      const before = destinations.lastLookup(id);
      const isPaused = config.destination(id)?.data.paused;
      if (before || isPaused) delivery.changed(before, destinations.lookup(id));
    });
    const { deliverer, lanes } = delivery;
    observeDelivery({ deliverer, lanes, sender, sockets: SOCKETS.total });
    // As a rule, the time of the brokers is known before the first record is read.
    await withTimeout(CLOCK_WITHIN_MS, producer.send([clockNote()]));
    consumption = await kafka.consume({
      group: 'delivery',
      topics: [WEBHOOKS, DUE],
      onRecord: deliverer.onRecord.bind(deliverer),
      onRevoking: () => deliverer.onRevoking(),
      onRestart: (restart) => deliverer.onRestart(restart),
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

function openSender({
  settings,
  limits,
  clock,
  producer,
}: {
  settings: Settings;
  limits: ProcessLimits;
  clock: StallClock;
  producer: BatchProducer;
}): Sender {
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
    mostConnections: mostConnections(limits),
    onHandshake: (resumed) => handshakes[resumed ? 'resumed' : 'full'].value++,
    onUnasked: () => deliveryMetrics.oddities.extra_bytes.value++,
  });
}
