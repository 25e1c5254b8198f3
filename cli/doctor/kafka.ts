import { ALERTS_ID, type Destination } from '../../shared/model/config';
import { mapSecrets } from '../../shared/model/secret-fields';
import { createAuthenticator } from '../../shared/config/authentication';
import { createEncryptor, type Encryptor, keyProblem } from '../../shared/config/encryption';
import { openConfig } from '../../shared/config/reader';
import { messageOf } from '../../shared/runtime/errors';
import { kafkaAddress, probeKafka } from '../../shared/kafka/client/connection';
import { connectKafka } from '../../shared/kafka/client/client';
import { inspectOffsets, inspectTopics } from '../../shared/kafka/client/topic-report';
import { type Kafka } from '../../shared/kafka/port';
import { recordAt } from '../../shared/kafka/scan';
import { ATTEMPTS, CONFIG, MESSAGES } from '../../shared/kafka/topics';
import { type Settings } from '../../shared/runtime/settings';
import { createLog } from '../../shared/telemetry/log';
import {
  type Check,
  clockCheck,
  configCheck,
  fail,
  keyCheck,
  offsetChecks,
  ok,
  topicChecks,
  warn,
} from './check';

/** Checks brokers, topics, `config` and its key from the view of a service. It changes nothing. */

export async function kafkaChecks(settings: Settings): Promise<Check[]> {
  if (!settings.KAFKA_BROKERS?.length) {
    return [
      warn(
        'kafka',
        'not checked',
        'Set KAFKA_BROKERS as for the services, or run this next to their `npm start`.',
      ),
    ];
  }
  const brokers = settings.KAFKA_BROKERS.join(',');
  const probe = await probeKafka(kafkaAddress(settings));
  if (probe.state !== 'ready') {
    return [
      fail(
        'kafka',
        `${brokers}: ${probe.reason}`,
        'Is it running, and are KAFKA_BROKERS, KAFKA_SSL and KAFKA_SASL_* correct?',
      ),
    ];
  }
  const findings = await inspectTopics(settings);
  const checks = [ok('kafka', `responds at ${brokers}`), ...topicChecks(findings)];
  // Services create missing topics when they connect, and so would the next check.
  if (findings.missing.length > 0) return checks;
  return [
    ...checks,
    ...offsetChecks(await inspectOffsets(settings)),
    ...(await lookInside(settings)),
  ];
}

async function lookInside(settings: Settings): Promise<Check[]> {
  const log = createLog('doctor', 'silent');
  const kafka = await connectKafka(settings, { clientId: 'doctor', log });
  try {
    return [...(await configChecks(kafka, settings)), ...(await clockOf(kafka))];
  } finally {
    await kafka.close();
  }
}

export async function configChecks(kafka: Kafka, settings: Settings): Promise<Check[]> {
  try {
    const keys = settings.WAYPOST_SECRET_KEY;
    const config = await openConfig(kafka, {
      name: 'doctor',
      authenticator: keys && createAuthenticator(keys),
      log: createLog('doctor', 'silent'),
      onFatal: () => undefined,
    });
    // Each audience and computed trait has a source, and the alerts are stored as a destination.
    const sources = config.list('source').length;
    const destinations = config.list('destination').map(({ data }) => data);
    const shown = destinations.filter(({ id }) => id !== ALERTS_ID).length;
    await config.stop();
    const readable = configCheck(
      config.unreadableKeys(),
      `read to its end: ${String(sources)} sources (with those of audiences and traits), ` +
        `${String(shown)} destinations`,
    );
    if (!keys) return [readable];
    const encryptor = createEncryptor(keys);
    const problem = keyProblem(config, encryptor);
    if (problem !== undefined) {
      return [readable, fail('secret key', problem, 'Use the WAYPOST_SECRET_KEY of control.')];
    }
    const lost = destinations.filter((destination) => isLost(destination, encryptor));
    return [
      readable,
      keyCheck(
        lost.map(({ name }) => name),
        destinations.length,
      ),
    ];
  } catch (error) {
    return [
      fail(
        'config',
        messageOf(error),
        'A service that cannot read it routes and delivers nothing. See its log.',
      ),
    ];
  }
}

/** Returns whether a text of the destination is encrypted with another key. */
function isLost(destination: Destination, encryptor: Encryptor): boolean {
  let lost = false;
  mapSecrets(destination, (sealed, field) => {
    if (encryptor.decrypt(sealed, field).text === undefined) lost = true;
    return sealed;
  });
  return lost;
}

/** A broker reveals its clock only through records: its newest record cannot be from the future. */
async function clockOf(kafka: Kafka): Promise<Check[]> {
  let newestMs = 0;
  for (const topic of [CONFIG, MESSAGES, ATTEMPTS]) {
    for (const { partition, low, high } of await kafka.ranges(topic)) {
      if (high <= low) continue;
      const newest = await recordAt(kafka, { topic, partition, offset: high - 1 });
      newestMs = Math.max(newestMs, newest?.timestampMs ?? 0);
    }
  }
  return newestMs === 0 ? [] : [clockCheck("broker's clock", Math.max(0, newestMs - Date.now()))];
}
