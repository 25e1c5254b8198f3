import { Alert, Button, Group, NativeSelect, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { type Destination, type Test } from '../../../shared/api/operations';
import { useChange } from '../lib/api';
import { CALL_TYPES, reasonInWords } from '../lib/labels';
import { Failure } from '../ui/ui';
import { AttemptView } from './attempt';

/** Sends a sample once through the real pipeline, and shows the response of each URL. */
export function TestSend({ destination: { id, webhooks } }: { destination: Destination }) {
  const [type, setType] = useState<(typeof CALL_TYPES)[number]>('track');
  const send = useChange('POST /destinations/{id}/test', { refresh: false });
  return (
    <Stack>
      <Group align="flex-end">
        <NativeSelect
          label="Sample"
          data={[...CALL_TYPES]}
          value={type}
          onChange={(event) => setType(event.target.value as typeof type)}
        />
        <Button onClick={() => send.mutate({ id, body: { type } })} loading={send.isPending}>
          Send a test
        </Button>
      </Group>
      <TestResult test={send} webhooks={webhooks} />
    </Stack>
  );
}

interface ResultProps {
  test: { data: { data: Test } | undefined; error: Error | null };
  webhooks: Destination['webhooks'];
}

export function TestResult({ test: { data, error }, webhooks }: ResultProps) {
  const result = data?.data;
  const arrived = result?.status === 'delivered';
  return (
    <div aria-live="polite">
      {error && <Failure error={error} what="the test" />}
      {result && (
        <Stack gap="sm">
          <Alert color={arrived ? 'green' : 'red'} title={arrived ? 'Test delivered' : 'Test not delivered'}>
            <Text size="sm">
              {arrived ? 'Each URL with a 2xx response accepted it.' : reasonInWords(result.reason)}
            </Text>
          </Alert>
          {result.attempt && <AttemptView attempt={named(result.attempt, webhooks)} heading="The test" />}
        </Stack>
      )}
    </div>
  );
}

/** Adds the full address of each URL if the user may see it, because several URLs often share a host. */
function named(attempt: NonNullable<Test['attempt']>, webhooks: Destination['webhooks']) {
  const address = (id: string) => webhooks.find((webhook) => webhook.id === id)?.url ?? null;
  return { ...attempt, urls: attempt.urls.map((url) => ({ ...url, address: address(url.url) })) };
}
