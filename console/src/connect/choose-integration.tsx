import { Stack, Text } from '@mantine/core';
import { useRead } from '../lib/api';
import { Empty, LinkButton, Unread } from '../ui/ui';
import { text } from '../texts';

const words = text.connect.chooseIntegration;

/** Step 1: choose an integration from the catalog. */
export function ChooseIntegration() {
  const read = useRead('GET /catalog', {});
  if (!read.data) return <Unread read={read} what={words.theCatalog} />;
  const { data } = read.data.data;
  if (data.length === 0) return <Empty title={words.catalogEmpty} />;
  return (
    <Stack>
      <Text>{words.question}</Text>
      {data.map(({ type, name, description }) => (
        <section key={type} className="card row spread" aria-label={name}>
          <div>
            <Text fw={600}>{name}</Text>
            <Text size="sm">{description}</Text>
          </div>
          <LinkButton primary to={`/connect/new?type=${encodeURIComponent(type)}`}>
            {words.choose(name)}
          </LinkButton>
        </section>
      ))}
    </Stack>
  );
}
