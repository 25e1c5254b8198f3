import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  kafkaAddress,
  letOthersReturn,
  OTHERS_RETURN_MS,
  probeKafka,
} from '../../../../shared/kafka/client/connection';
import { createLog } from '../../../../shared/telemetry/log';
import { loadSettings } from '../../../../shared/runtime/settings';

/** The settings for the connection to Kafka. */

const address = (env: Record<string, string>) =>
  kafkaAddress(loadSettings({ KAFKA_BROKERS: 'k:9092', ...env }));

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

test('the password file is read at each use without a line break, or an error names it', () => {
  const dir = mkdtempSync(join(tmpdir(), 'waypost-address-'));
  const file = join(dir, 'password');
  const env = {
    KAFKA_SASL_MECHANISM: 'scram-sha-512',
    KAFKA_SASL_USERNAME: 'wp',
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

test('probing a refusing broker sets no negative timer, of which Node would warn', async () => {
  // The size, the correlation id of the request, the error UNSUPPORTED_VERSION, and no versions.
  const refuse = (request: Buffer) =>
    Buffer.concat([bytes('0000000a'), request.subarray(8, 12), bytes('002300000000')]);
  const server = createServer(
    (socket) => void socket.on('data', (request) => socket.write(refuse(request))),
  );
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const timers = jest.spyOn(global, 'setTimeout');
  const look = await probeKafka({ brokers: [`127.0.0.1:${String(port)}`] });
  const times = timers.mock.calls.map(([, ms]) => ms ?? 0);
  timers.mockRestore();
  server.close();
  expect(look.state).toBe('away');
  expect(times.filter((ms) => ms < 0)).toEqual([]);
});

const bytes = (hex: string) => Buffer.from(hex, 'hex');

test.each([
  ['a broker that stood still, until the others have returned', 2_000, OTHERS_RETURN_MS],
  ['a broker that answered at once, not at all', 1_999, 0],
])('a process waits after connecting to %s', async (_, connectMs, waitsMs) => {
  jest.useFakeTimers();
  let waited = false;
  void letOthersReturn(connectMs, createLog('test', 'silent')).then(() => (waited = true));
  await jest.advanceTimersByTimeAsync(Math.max(0, waitsMs - 1));
  expect(waited).toBe(waitsMs === 0);
  await jest.advanceTimersByTimeAsync(1);
  expect(waited).toBe(true);
  jest.useRealTimers();
});
