import { Text } from '@mantine/core';
import { useRead } from '../lib/api';
import { urlsInWords } from '../destination/attempt-text';
import { text } from '../texts';

const words = text.destination;

/** Names the URLs that an attempt did not call, as the destination has them today. */
export function NotCalled({ destination, ids }: { destination: string; ids: readonly string[] }) {
  const read = useRead('GET /destinations/{id}', { id: destination });
  if (!read.data) return null;
  const urls = urlsInWords(ids, read.data.data.webhooks);
  return (
    <Text size="sm" className="bad break">
      {words.notCalled(urls.join(', '))}
    </Text>
  );
}
