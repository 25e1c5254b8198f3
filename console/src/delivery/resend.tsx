import { Button, Group, Modal, Stack, Text, Textarea } from '@mantine/core';
import { useState } from 'react';
import { type Delivery } from '../../../shared/api/operations';
import { TestResult } from '../destination/test-send';
import { useChange, useRead } from '../lib/api';
import { useMay } from '../lib/session';
import { sampleOf, sampleText } from './sample';
import { text } from '../texts';

const words = text.delivery.resend;

/** Sends an edited copy of a message to the destination, once, as a test. */
export function EditAndResend({ delivery }: { delivery: Delivery }) {
  const may = useMay('POST /destinations/{id}/test');
  const [open, setOpen] = useState(false);
  const text = sampleText(delivery);
  if (!may || text === undefined) return null;
  return (
    <>
      <Button variant="default" onClick={() => setOpen(true)}>
        {words.editSendTest}
      </Button>
      <Modal opened={open} onClose={() => setOpen(false)} title={words.editSendTest} size="lg">
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
      <Text size="sm">{words.hint}</Text>
      <Textarea
        label={words.message}
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
          {words.sendTest}
        </Button>
      </Group>
      <TestResult test={send} webhooks={read.data?.data.webhooks ?? []} />
    </Stack>
  );
}
