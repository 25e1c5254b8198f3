import { Group, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { type Source } from '../../../shared/api/operations';
import { useChange } from '../lib/api';
import { useMay } from '../lib/session';
import { Confirmed, Failure, Section, When } from '../ui/ui';
import { text } from '../texts';

const words = text.source.writeKey;

/** Rotates the write key of a source: the old one stays valid for a time. */
export function WriteKey({ source: { id, oldWriteKeys }, etag }: { source: Source; etag: string }) {
  const [overlap, setOverlap] = useState('24h');
  const rotate = useChange('POST /sources/{id}/rotate-key');
  const mayRotate = useMay('POST /sources/{id}/rotate-key');
  if (!mayRotate) return null;
  return (
    <Section title={words.writeKey}>
      <Stack gap="sm">
        {oldWriteKeys.map(({ key, until }) => (
          <Text key={key} size="sm">
            {words.oldKeyValid(<code className="break">{key}</code>, <When at={until} />)}
          </Text>
        ))}
        <Group align="flex-end">
          <TextInput
            label={words.overlap}
            description={words.overlapHint}
            value={overlap}
            onChange={(event) => setOverlap(event.target.value)}
          />
          <Confirmed
            label={words.rotateKey}
            question={words.rotateQuestion}
            busy={rotate.isPending}
            onConfirm={() => rotate.mutate({ id, ifMatch: etag, body: { overlap } })}
          >
            <Text>{words.rotateHint(overlap)}</Text>
          </Confirmed>
        </Group>
        {rotate.error && <Failure error={rotate.error} what={words.rotateTask} />}
      </Stack>
    </Section>
  );
}
