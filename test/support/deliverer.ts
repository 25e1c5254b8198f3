import { assemble } from '../../services/delivery/assemble';
import { Destinations } from '../../services/delivery/destinations/destinations';
import { Sender } from '../../services/delivery/http/client';
import { NameResolver } from '../../services/delivery/http/resolver';
import { StallClock } from '../../services/delivery/clock/stall-clock';
import { type Encryptor } from '../../shared/config/encryption';
import { openConfig } from '../../shared/config/reader';
import { type Consumption, type Kafka } from '../../shared/kafka/port';
import { WEBHOOKS } from '../../shared/kafka/topics';
import { createAddressGuard } from '../../shared/model/address-guard';
import { loadSettings } from '../../shared/runtime/settings';
import { type Log } from '../../shared/telemetry/log';

/** Delivery as its process runs it, on a real Kafka, with receivers on this machine. */

const TIERS = [60_000];
const TIMEOUT_MS = 5_000;

interface Running {
  stop(): Promise<void>;
}

export async function startDelivery(
  kafka: Kafka,
  {
    encryptor,
    log,
    onFatal,
  }: { encryptor: Encryptor; log: Log; onFatal: (error: unknown) => void },
): Promise<Running> {
  const config = await openConfig(kafka, { name: 'delivery', log, onFatal });
  const producer = await kafka.producer({ maxPendingBytes: Infinity, deliveryTimeoutMs: 'retry' });
  const clock = new StallClock();
  const guard = createAddressGuard(
    loadSettings({ WAYPOST_ALLOWED_NETWORKS: '127.0.0.0/8' }).WAYPOST_ALLOWED_NETWORKS,
  );
  const names = new NameResolver(TIMEOUT_MS);
  const sender = new Sender({ timeoutMs: TIMEOUT_MS, guard, names, clock, mostConnections: 100 });
  let consumption: Consumption | undefined = undefined;
  const delivery = assemble({
    config,
    destinations: new Destinations(config, encryptor, log),
    sender,
    producer,
    clock,
    log,
    tiersMs: TIERS,
    windowMs: 3_600_000,
    onRoom: () => consumption?.resume(),
    onFatal,
  });
  const { deliverer } = delivery;
  const onRecord = deliverer.onRecord.bind(deliverer);
  const reading = (consumption = await kafka.consume({
    group: 'delivery',
    topics: [WEBHOOKS],
    onRecord,
    onFatal,
  }));
  return {
    stop: async () => {
      await reading.stop(10_000);
      delivery.stop();
      await sender.close();
      clock.stop();
      await Promise.all([producer.close(1_000), config.stop()]);
    },
  };
}
