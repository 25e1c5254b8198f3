import { Group, Stack, Text } from '@mantine/core';
import { type Destination } from '../../../shared/api/operations';
import { TestSend } from '../destination/test-send';
import { LinkButton } from '../ui/ui';
import { text } from '../texts';

const words = text.connect.testStep;

/** Tests whether the URLs accept a sample before Waypost sends any real message. */
export function TestStep({ destination }: { destination: Destination }) {
  return (
    <Stack>
      <Text>{words.hint(destination.webhooks.length)}</Text>
      <TestSend destination={destination} />
      <Group>
        <LinkButton primary to={`/connect/${destination.id}/settings`}>
          {words.continue}
        </LinkButton>
        <LinkButton to={`/connect/${destination.id}/urls`}>{words.changeUrls}</LinkButton>
      </Group>
    </Stack>
  );
}
