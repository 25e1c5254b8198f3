import { type Admin, ConfigResourceTypes } from 'kafkajs';

/**
 * Sets the size up to which a topic takes records, as an operator could. The brokers learn it a
 * moment later.
 * @param topic with the prefix
 */
export async function limitRecords(
  admin: Admin,
  topic: string,
  bytes: number,
  cleanup: 'delete' | 'compact' = 'delete',
): Promise<void> {
  // What is not named gets its default.
  const settings = {
    'max.message.bytes': String(bytes),
    'cleanup.policy': cleanup,
    'message.timestamp.type': 'LogAppendTime',
  };
  const configEntries = Object.entries(settings).map(([name, value]) => ({ name, value }));
  await admin.alterConfigs({
    validateOnly: false,
    resources: [{ type: ConfigResourceTypes.TOPIC, name: topic, configEntries }],
  });
}
