import { Group, Stack, Text } from '@mantine/core';
import { useSearchParams } from 'react-router';
import { type Destination } from '../../../shared/api/operations';
import { TestSend } from '../destination/test-send';
import { LinkButton, Section } from '../ui/ui';
import { addressOf, testedOf } from './steps';
import { text } from '../texts';

const words = text.connect.testStep;

/** Step 3: whether the URLs accept a signed sample, before Waypost sends any real event. */
export function TestStep({ destination }: { destination: Destination }) {
  const { id, webhooks, hasSharedSecret } = destination;
  const [search, setSearch] = useSearchParams();
  const tested = testedOf(search.get('test'));
  const live = addressOf('live', { id, tested }) ?? '';
  return (
    <Stack>
      <Section title={words.title}>
        <Stack>
          <Text size="sm">{words.hint(webhooks.length, hasSharedSecret)}</Text>
          <TestSend
            destination={destination}
            onTested={(hasPassed) =>
              setSearch({ test: hasPassed ? 'passed' : 'failed' }, { replace: true })
            }
          />
        </Stack>
      </Section>
      <Group>
        {tested === 'passed' && (
          <LinkButton primary to={live}>
            {words.continue}
          </LinkButton>
        )}
        <LinkButton primary={tested === 'failed'} to={`/connect/${id}/endpoint`}>
          {words.changeEndpoint}
        </LinkButton>
        {tested !== 'passed' && (
          <LinkButton to={live}>{tested === 'failed' ? words.goOnAnyway : words.skip}</LinkButton>
        )}
      </Group>
    </Stack>
  );
}
