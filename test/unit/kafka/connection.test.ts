import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { kafkaAddress } from '../../../shared/kafka/connection';
import { loadSettings } from '../../../shared/service/settings';

/** The settings for the connection to Kafka. */

const address = (env: Record<string, string>) => kafkaAddress(loadSettings({ KAFKA_BROKERS: 'k:9092', ...env }));

test.each([
  [{}, { ssl: false }],
  [{ KAFKA_SSL: 'true' }, { ssl: true }],
])('the settings %j give the address %j', (env, expected) => {
  expect(address(env)).toEqual({ brokers: ['k:9092'], ...expected });
});

test('a certificate authority is read from its file, and the error names a missing file', () => {
  const dir = mkdtempSync(join(tmpdir(), 'waypost-address-'));
  const file = join(dir, 'ca.pem');
  writeFileSync(file, 'an authority');
  const env = { KAFKA_SSL: 'true', KAFKA_SSL_CA_FILE: file };
  expect(address(env).ssl).toEqual({ ca: Buffer.from('an authority') });
  rmSync(dir, { recursive: true });
  expect(() => address(env)).toThrow(/^KAFKA_SSL_CA_FILE: .*ENOENT.*ca\.pem/);
});

test('the password file is read at each use, without the line break at its end, and the error names a missing file', () => {
  const dir = mkdtempSync(join(tmpdir(), 'waypost-address-'));
  const file = join(dir, 'password');
  const env = {
    ...{ KAFKA_SASL_MECHANISM: 'scram-sha-512', KAFKA_SASL_USERNAME: 'wp' },
    KAFKA_SASL_PASSWORD_FILE: file,
  };
  expect(() => address(env)).toThrow(/^KAFKA_SASL_PASSWORD_FILE: .*ENOENT/);
  writeFileSync(file, 'first\n');
  const { sasl } = address(env);
  expect(sasl).toEqual({ mechanism: 'scram-sha-512', username: 'wp', password: 'first' });
  writeFileSync(file, 'second');
  expect(sasl).toMatchObject({ password: 'second' });
  rmSync(dir, { recursive: true });
});

test('a certificate file is read at each use', () => {
  const dir = mkdtempSync(join(tmpdir(), 'waypost-address-'));
  const file = join(dir, 'ca.pem');
  writeFileSync(file, 'old');
  const { ssl } = address({ KAFKA_SSL: 'true', KAFKA_SSL_CA_FILE: file });
  writeFileSync(file, 'renewed');
  expect(ssl).toEqual({ ca: Buffer.from('renewed') });
  rmSync(dir, { recursive: true });
});
