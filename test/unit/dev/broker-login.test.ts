import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brokerProperties } from '../../../dev/kafka/broker-config';
import { brokerLogin, formatArguments, clientSettings } from '../../../dev/kafka/broker-login';
import { kafkaAddress } from '../../../shared/kafka/client/connection';
import { loadSettings } from '../../../shared/runtime/settings';

let dir: string;
beforeEach(() => (dir = mkdtempSync(join(tmpdir(), 'waypost-login-'))));
afterEach(() => rmSync(dir, { recursive: true }));

test('the password is made once, and only its owner can read it', () => {
  const { file, password } = brokerLogin(dir, false);
  expect(password).toMatch(/^[0-9a-f]{64}$/);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(brokerLogin(dir, true).password).toBe(password);
  expect(formatArguments(brokerLogin(dir, true))).toContain(`password=${password}]`);
});

test('records of a broker that had no login are refused with what to do', () => {
  expect(() => brokerLogin(dir, true)).toThrow(/has no password.*run `waypost import`/);
});

test('no listener of the embedded broker is without a login', () => {
  const ports = { broker: 1, controller: 2 };
  const properties = brokerProperties({ ports, logDir: dir, login: brokerLogin(dir, false) });
  expect(properties['listener.security.protocol.map']).toBe(
    'CONTROLLER:SASL_PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT',
  );
});

test('the password of the controller is another one at each start', () => {
  const first = brokerLogin(dir, false);
  expect(first.controllerPassword).not.toBe(first.password);
  expect(brokerLogin(dir, true).controllerPassword).not.toBe(first.controllerPassword);
});

test('a service reads the password from its file, also with a password in its environment', () => {
  const login = brokerLogin(dir, false);
  const env = { KAFKA_SASL_PASSWORD: 'of another Kafka' };
  const settings = loadSettings({ ...env, ...clientSettings('127.0.0.1:1', login) });
  expect(kafkaAddress(settings).sasl).toMatchObject({
    mechanism: 'scram-sha-256',
    username: 'waypost',
    password: readFileSync(login.file, 'utf8').trim(),
  });
});
