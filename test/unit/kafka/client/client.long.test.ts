import pino from 'pino';
import { connectKafka } from '../../../../shared/kafka/client/client';
import { loadSettings } from '../../../../shared/runtime/settings';

/** Returns the events that are logged at level warn while no broker answers. */
async function warningsOf(env: Record<string, string>): Promise<string[]> {
  const lines: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line) => lines.push(line) });
  const sasl = { KAFKA_SASL_USERNAME: 'waypost', KAFKA_SASL_PASSWORD: 'planted-password' };
  const settings = loadSettings({ KAFKA_BROKERS: '127.0.0.1:1', ...sasl, ...env });
  await expect(connectKafka(settings, { clientId: 'test', log })).rejects.toMatchObject({
    code: 'cannot_start',
  });
  expect(lines.join('')).not.toContain('planted-password');
  return lines.map((line) => (JSON.parse(line) as { msg: string }).msg);
}

test('a start logs a warning if the password crosses the network in clear text', async () => {
  expect(await warningsOf({ KAFKA_SASL_MECHANISM: 'plain' })).toContain('kafka.password_in_clear');
});

test('a start logs no warning if the password is hashed or encrypted', async () => {
  const scram = await warningsOf({ KAFKA_SASL_MECHANISM: 'scram-sha-512' });
  const tls = await warningsOf({ KAFKA_SASL_MECHANISM: 'plain', KAFKA_SSL: 'true' });
  expect([...scram, ...tls]).not.toContain('kafka.password_in_clear');
});
