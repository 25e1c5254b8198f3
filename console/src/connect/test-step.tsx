import { Group, Stack, Text } from '@mantine/core';
import { type Destination } from '../../../shared/api/operations';
import { TestSend } from '../destination/test-send';
import { LinkButton } from '../ui/ui';

/** Tests whether the URLs accept a sample before Waypost sends any real message. */
export function TestStep({ destination }: { destination: Destination }) {
  return (
    <Stack>
      <Text>
        Send a test event to{' '}
        {destination.webhooks.length === 1 ? 'your URL' : `your ${destination.webhooks.length} URLs`} and see the
        response.
      </Text>
      <TestSend destination={destination} />
      <Group>
        <LinkButton primary to={`/connect/${destination.id}/settings`}>
          Continue
        </LinkButton>
        <LinkButton to={`/connect/${destination.id}/urls`}>Change the URLs</LinkButton>
      </Group>
    </Stack>
  );
}
