import { readFileSync } from 'node:fs';
import { AppError, messageOf } from '../service/errors';
import { requireBrokers, type Settings } from '../service/settings';

/** Addresses of the brokers, with TLS and authentication. */
export interface KafkaAddress {
  brokers: string[];
  ssl?: boolean | KafkaTls;
  sasl?: { mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512'; username: string; password: string };
}

/** Contents of PEM files. */
interface KafkaTls {
  /** the certificate authorities for the brokers, in place of those that Node trusts */
  ca?: Buffer;
  /** the certificate of this client */
  cert?: Buffer;
  key?: Buffer;
}

/** Returns the address from the settings. @throws AppError `bad_settings` without KAFKA_BROKERS, or for an unreadable file */
export function kafkaAddress(settings: Settings): KafkaAddress {
  const { KAFKA_SASL_MECHANISM: mechanism, KAFKA_SASL_USERNAME: username, KAFKA_SASL_PASSWORD: password } = settings;
  const address = { brokers: requireBrokers(settings), ssl: settings.KAFKA_SSL && tlsOf(settings) };
  return mechanism && username && password ? { ...address, sasl: { mechanism, username, password } } : address;
}

function tlsOf(settings: Settings): true | KafkaTls {
  const tls: KafkaTls = {};
  for (const name of ['ca', 'cert', 'key'] as const) {
    const setting = `KAFKA_SSL_${name.toUpperCase() as Uppercase<typeof name>}_FILE` as const;
    const file = settings[setting];
    if (file !== undefined) tls[name] = read(setting, file);
  }
  return Object.keys(tls).length === 0 || tls;
}

function read(setting: string, file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new AppError('bad_settings', `${setting}: ${messageOf(error)}`, false, { cause: error });
  }
}
