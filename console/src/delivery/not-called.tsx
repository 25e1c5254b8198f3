import { Text } from '@mantine/core';
import { useRead } from '../lib/api';
import { text } from '../texts';

const words = text.destination;

/** Names the URLs that an attempt did not call, as the destination has them today. */
export function NotCalled({ destination, ids }: { destination: string; ids: readonly string[] }) {
  const read = useRead('GET /destinations/{id}', { id: destination });
  if (!read.data) return null;
  const { webhooks } = read.data.data;
  const urls = ids.map((id) => webhooks.find((webhook) => webhook.id === id)?.url ?? words.removedUrl);
  return (
    <Text size="sm" className="bad break">
      {words.notCalled(urls.join(', '))}
    </Text>
  );
}
