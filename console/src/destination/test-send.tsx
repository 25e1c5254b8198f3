import { Alert, Button, Group, NativeSelect, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { type Destination, type Test } from '../../../shared/api/operations';
import { useChange } from '../lib/api';
import { CALL_TYPES } from '../lib/labels';
import { Failure } from '../ui/ui';
import { AttemptView } from './attempt';
import { acceptedInWords } from './attempt-text';
import { hasPassed, whyNotPassed } from './test-advice';
import { text } from '../texts';

const words = text.destination.testSend;

interface Props {
  destination: Destination;
  /** @param hasPassed every URL has accepted the test */
  onTested?: (hasPassed: boolean) => void;
}

/** Sends a sample once through the real pipeline, and shows the response of each URL. */
export function TestSend({ destination, onTested }: Props) {
  const { id, webhooks, hasSharedSecret } = destination;
  const [type, setType] = useState<(typeof CALL_TYPES)[number]>('track');
  const send = useChange('POST /destinations/{id}/test', { refresh: false });
  const sendTest = () =>
    send.mutate(
      { id, body: { type } },
      // Given here, it is not called once the user has left: it would lead them back.
      { onSuccess: ({ data }) => onTested?.(hasPassed(data)) },
    );
  return (
    <Stack>
      <Group align="flex-end">
        <NativeSelect
          label={words.sample}
          data={[...CALL_TYPES]}
          value={type}
          onChange={(event) => setType(event.target.value as typeof type)}
        />
        <Button onClick={sendTest} loading={send.isPending}>
          {words.sendTest}
        </Button>
      </Group>
      <TestResult test={send} webhooks={webhooks} isSigned={hasSharedSecret} />
    </Stack>
  );
}

interface ResultProps {
  test: { data: { data: Test } | undefined; error: Error | null };
  webhooks: Destination['webhooks'];
  /** undefined: not known here */
  isSigned?: boolean;
}

export function TestResult({ test: { data, error }, webhooks, isSigned }: ResultProps) {
  const result = data?.data;
  const arrived = result?.status === 'delivered';
  return (
    <div aria-live="polite">
      {error && <Failure error={error} what={words.sendTask} />}
      {result && (
        <Stack gap="sm">
          <Alert
            color={arrived ? (hasPassed(result) ? 'green' : 'yellow') : 'red'}
            title={arrived ? words.testDelivered : words.testFailed}
          >
            <Text size="sm">
              {result.attempt ? acceptedInWords(result.attempt.urls) : ''}{' '}
              {arrived ? partly(result.attempt?.urls ?? []) : ''}
            </Text>
            {whyNotPassed(result, isSigned).map((sentence) => (
              <Text key={sentence} size="sm">
                {sentence}
              </Text>
            ))}
          </Alert>
          {result.attempt && (
            <AttemptView
              isTest
              attempt={named(result.attempt, webhooks)}
              heading={words.sentTest}
            />
          )}
        </Stack>
      )}
    </div>
  );
}

/** Warns that Waypost does not retry a URL once another one has accepted a message. */
function partly(urls: NonNullable<Test['attempt']>['urls']): string {
  const all = urls.every(({ outcome }) => outcome === 'delivered');
  return all ? '' : words.someFailed;
}

/**
 * Adds the full address of each URL if the user may see it, because several URLs often share a
 * host.
 */
function named(attempt: NonNullable<Test['attempt']>, webhooks: Destination['webhooks']) {
  const address = (id: string) => webhooks.find((webhook) => webhook.id === id)?.url ?? null;
  return { ...attempt, urls: attempt.urls.map((url) => ({ ...url, address: address(url.url) })) };
}
