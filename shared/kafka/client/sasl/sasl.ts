import { readFileSync } from 'node:fs';
import { type KafkaConfig } from 'kafkajs';
import { AppError, messageOf } from '../../../runtime/errors';
import { awsRegion, type Settings } from '../../../runtime/settings';
import { bearerMechanism, TokenCache } from './bearer-token';
import { requestToken, tokenFromFile } from './client-credentials';
import { mskToken } from './msk-iam';

/**
 * Returns how the client authenticates, as kafkajs takes it. Each new connection reads the password
 * file again, and gets a token that is valid then.
 * @throws AppError `bad_settings` for an unreadable file
 */
export function saslOf(settings: Settings): KafkaConfig['sasl'] {
  const { KAFKA_SASL_MECHANISM: mechanism, KAFKA_SASL_USERNAME: username = '' } = settings;
  if (mechanism === undefined) return undefined;
  if (mechanism === 'aws-msk-iam') {
    const region = awsRegion(settings) ?? '';
    return bearerMechanism(new TokenCache(() => mskToken(region)));
  }
  if (settings.KAFKA_SASL_PASSWORD_FILE !== undefined) {
    readSettingFile('KAFKA_SASL_PASSWORD_FILE', settings);
  }
  if (mechanism === 'oauthbearer') return oauthBearer(settings, username);
  const user = {
    mechanism,
    username,
    get password() {
      return passwordOf(settings);
    },
  };
  return user as KafkaConfig['sasl'];
}

function oauthBearer(settings: Settings, clientId: string): KafkaConfig['sasl'] {
  const url = new URL(settings.KAFKA_SASL_OAUTHBEARER_TOKEN_ENDPOINT_URL ?? '');
  const request = {
    url,
    clientId,
    scope: settings.KAFKA_SASL_OAUTHBEARER_SCOPE,
    audience: settings.KAFKA_SASL_OAUTHBEARER_AUDIENCE,
  };
  const ask =
    url.protocol === 'file:'
      ? () => tokenFromFile(url)
      : () => requestToken({ ...request, secret: passwordOf(settings) });
  return bearerMechanism(new TokenCache(ask), settings.KAFKA_SASL_OAUTHBEARER_EXTENSIONS);
}

/** Files made by editors and by `kubectl create secret --from-file` may end with a line break. */
function passwordOf(settings: Settings): string {
  const { KAFKA_SASL_PASSWORD: password } = settings;
  return (
    password ??
    readSettingFile('KAFKA_SASL_PASSWORD_FILE', settings)
      .toString('utf8')
      .replace(/\r?\n$/, '')
  );
}

type FileSetting = `KAFKA_${'SSL_CA' | 'SSL_CERT' | 'SSL_KEY' | 'SASL_PASSWORD'}_FILE`;

/** @throws AppError `bad_settings` that names the setting */
export function readSettingFile(setting: FileSetting, settings: Settings): Buffer {
  try {
    return readFileSync(settings[setting] ?? '');
  } catch (error) {
    throw new AppError('bad_settings', `${setting}: ${messageOf(error)}`, false, { cause: error });
  }
}
