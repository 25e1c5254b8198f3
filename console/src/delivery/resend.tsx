import { Button, Group, Modal, Stack, Text, Textarea } from '@mantine/core';
import { useState } from 'react';
import { type Delivery } from '../../../shared/api/operations';
import { TestResult } from '../destination/test-send';
import { useChange, useRead } from '../lib/api';
import { useMay } from '../lib/session';
import { sampleOf, sampleText } from './sample';

/** Sends an edited copy of a message to the destination, once, as a test. */
export function EditAndResend({ delivery }: { delivery: Delivery }) {
  const may = useMay('POST /destinations/{id}/test');
  const [open, setOpen] = useState(false);
  const text = sampleText(delivery);
  if (!may || text === undefined) return null;
  return (
    <>
      <Button variant="default" onClick={() => setOpen(true)}>
        Edit and send a test
      </Button>
      <Modal
        opened={open}
        onClose={() => setOpen(false)}
        title="Edit and send a test"
        size="lg"
        lockScroll={false}
        closeButtonProps={{ 'aria-label': 'Close' }}
      >
        <Editor destination={delivery.destination} begun={text} />
      </Modal>
    </>
  );
}

function Editor({ destination: id, begun }: { destination: string; begun: string }) {
  const [text, setText] = useState(begun);
  const read = useRead('GET /destinations/{id}', { id });
  const send = useChange('POST /destinations/{id}/test', { refresh: false });
  const parsed = sampleOf(text);
  return (
    <Stack>
      <Text size="sm">
        Waypost sends this once, marked as a test, with an id of its own. The original delivery does not change.
      </Text>
      <Textarea
        label="Message"
        value={text}
        onChange={(event) => setText(event.target.value)}
        error={'problem' in parsed ? parsed.problem : undefined}
        autosize
        minRows={6}
        maxRows={18}
        spellCheck={false}
        classNames={{ input: 'mono' }}
      />
      <Group>
        <Button
          loading={send.isPending}
          disabled={'problem' in parsed}
          onClick={() => {
            if ('sample' in parsed) send.mutate({ id, body: parsed.sample });
          }}
        >
          Send a test
        </Button>
      </Group>
      <TestResult test={send} webhooks={read.data?.data.webhooks ?? []} />
    </Stack>
  );
}
