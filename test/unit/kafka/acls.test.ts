import { grantCommands, grantsOf } from '../../../deploy/kafka/acls';

/** Grants as commands. test/integration/kafka-security.test.ts shows with a real Kafka that they suffice, and are minimal. */

test('the grants of a system with a prefix become commands with that prefix', () => {
  const commands = grantCommands(grantsOf('prod.', 'wp-'), 'k:9092').map((command) =>
    command.replace('kafka-acls.sh --bootstrap-server k:9092 --command-config admin.properties --add ', ''),
  );
  const retry = commands.filter((command) => command.includes('User:wp-retry') && !command.endsWith('DescribeConfigs'));
  expect(retry).toContain(
    '--allow-principal User:wp-retry --operation Read --operation Describe --operation DescribeConfigs --topic prod.webhooks.retry. --resource-pattern-type prefixed',
  );
  expect(retry).toContain(
    '--allow-principal User:wp-retry --operation Read --operation Delete --group prod.waypost-retry --resource-pattern-type prefixed',
  );
  expect(commands.filter((command) => command.includes('Create')).every((c) => c.includes('User:wp-topics'))).toBe(
    true,
  );
});
