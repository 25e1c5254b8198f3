import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fromEarlierBuild } from '../../shared/runtime/errors';
import { createSecretFile } from '../secrets';

/**
 * The login of the embedded broker. Its ports are open to every user of the machine, and who writes
 * the topic `config` is an administrator of Waypost. So each port asks for a password, which only
 * the owner of the broker's folder can read.
 *
 * - Clients log in by SCRAM. It never sends the password, so that a stranger who listens on the
 *   port while the broker is down does not get it.
 * - Only the broker itself talks to its controller port. SCRAM does not work there, because its
 *   users are in the records that the controller serves. PLAIN does, with a password that is new at
 *   each start.
 */

/** A login with the file that holds its password. */
export interface BrokerLogin {
  file: string;
  password: string;
  controllerPassword: string;
}

const USER = 'waypost';
const MECHANISM = 'SCRAM-SHA-256';

/**
 * Returns the login of a broker's folder, and makes it before the first start.
 * @param hasRecords the folder was formatted, with the user of an existing password
 * @throws AppError `older_format` if it was formatted without one
 */
export function brokerLogin(dir: string, hasRecords: boolean): BrokerLogin {
  const file = join(dir, 'password');
  if (!existsSync(file)) {
    if (hasRecords) throw fromEarlierBuild(`the Kafka in ${dir} has no password`);
    createSecretFile(file, newPassword());
  }
  return {
    file,
    password: readFileSync(file, 'utf8').trim(),
    controllerPassword: newPassword(),
  };
}

/** Returns the properties that make both listeners ask for the login; none without one. */
export function loginProperties(login: BrokerLogin | undefined): Record<string, string> {
  if (!login) return {};
  const { password, controllerPassword } = login;
  return {
    'sasl.enabled.mechanisms': MECHANISM,
    'sasl.mechanism.inter.broker.protocol': MECHANISM,
    [`listener.name.sasl_plaintext.${MECHANISM.toLowerCase()}.sasl.jaas.config`]:
      'org.apache.kafka.common.security.scram.ScramLoginModule required ' +
      `username="${USER}" password="${password}";`,
    'sasl.mechanism.controller.protocol': 'PLAIN',
    'listener.name.controller.sasl.enabled.mechanisms': 'PLAIN',
    'listener.name.controller.plain.sasl.jaas.config':
      'org.apache.kafka.common.security.plain.PlainLoginModule required ' +
      `username="${USER}" password="${controllerPassword}" user_${USER}="${controllerPassword}";`,
  };
}

/**
 * Returns the arguments, one a line, with which Kafka formats a folder that has this user. They go
 * into a file, because every user of a machine can read the arguments of a process.
 */
export function formatArguments({ password }: BrokerLogin): string {
  return `--add-scram\n${MECHANISM}=[name=${USER},password=${password}]\n`;
}

/** Returns the settings with which a service connects to the broker. */
export function clientSettings(
  address: string,
  login: BrokerLogin | undefined,
): Record<string, string> {
  if (!login) return { KAFKA_BROKERS: address };
  return {
    KAFKA_BROKERS: address,
    KAFKA_SASL_MECHANISM: MECHANISM.toLowerCase(),
    KAFKA_SASL_USERNAME: USER,
    KAFKA_SASL_PASSWORD: '',
    KAFKA_SASL_PASSWORD_FILE: login.file,
  };
}

/** Letters and digits only: it stands in properties, in JAAS and in an argument. */
function newPassword(): string {
  return randomBytes(32).toString('hex');
}
