import { Alert, Button, Group, NativeSelect, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useChange } from '../lib/api';
import { CALL_TYPES, reasonInWords } from '../lib/words';
import { Failure } from '../ui/ui';
import { AttemptView } from './attempt';

/** A sample through the real pipeline, tried once, and what each URL answered. */
export function TestSend({ id, onDelivered }: { id: string; onDelivered?: () => void }) {
  const [type, setType] = useState<(typeof CALL_TYPES)[number]>('track');
  const send = useChange('POST /destinations/{id}/test', {
    refresh: false,
    onDone: ({ data }) => {
      if (data.status === 'delivered') onDelivered?.();
    },
  });
  const result = send.data?.data;
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
      <div aria-live="polite">
        {send.error && <Failure error={send.error} what="the test" />}
        {result && (
          <Stack gap="sm">
            <Alert
              color={result.status === 'delivered' ? 'green' : 'red'}
              title={result.status === 'delivered' ? 'It arrived' : 'It did not arrive'}
            >
              <Text size="sm">
                {result.status === 'delivered'
                  ? 'Each URL that answered with 2xx took it.'
                  : reasonInWords(result.reason)}
              </Text>
            </Alert>
            {result.attempt && <AttemptView attempt={result.attempt} heading="The test" />}
          </Stack>
        )}
      </div>
    </Stack>
  );
}
