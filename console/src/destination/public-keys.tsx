import { Group, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { type Destination } from '../../../shared/api/operations';
import { parseDuration } from '../../../shared/model/time';
import { useChange, useRead } from '../lib/api';
import { useMay } from '../lib/session';
import { Code } from '../ui/code';
import { Confirmed, Failure, Unread, When } from '../ui/ui';
import { DURATION_PROBLEM } from './plain-draft';
import { type Read } from './save';
import { text } from '../texts';

const words = text.destination.publicKeys;

interface Props {
  destination: Destination;
  etag: string;
  onRotated?: ((response: Read) => void) | undefined;
}

/** The Ed25519 keys that receivers verify signatures with, and their rotation. */
export function PublicKeys({ destination, etag, onRotated }: Props) {
  const read = useRead('GET /destinations/{id}/public-keys', { id: destination.id });
  const mayRotate = useMay('POST /destinations/{id}/rotate-secret');
  if (!read.data || read.error) return <Unread read={read} what={words.theKeys} />;
  return (
    <Stack gap="xs">
      {read.data.data.data.map(({ key, createdAt, until }, i) => (
        <div key={key}>
          <Code text={key} label={i === 0 ? words.publicKey : words.publicKeyNumber(i + 1)} />
          <Text size="sm">
            {words.created(<When at={createdAt} exact />)}
            {until !== null && <>{words.signsUntil(<When at={until} exact />)}</>}
          </Text>
        </div>
      ))}
      {mayRotate && onRotated && (
        <RotateKey id={destination.id} etag={etag} onRotated={onRotated} />
      )}
    </Stack>
  );
}

function RotateKey({
  id,
  etag,
  onRotated,
}: {
  id: string;
  etag: string;
  onRotated: (response: Read) => void;
}) {
  const [overlap, setOverlap] = useState('24h');
  const rotate = useChange('POST /destinations/{id}/rotate-secret', {
    says: words.rotated,
    onDone: ({ data: { sharedSecret, ...data }, etag: tag }) => onRotated({ data, etag: tag }),
  });
  const problem = parseDuration(overlap) === undefined ? DURATION_PROBLEM : undefined;
  const begin = () => {
    if (problem === undefined) {
      rotate.mutate({ id, ifMatch: etag, body: { key: 'ed25519', overlap } });
    }
  };
  return (
    <Group>
      <Confirmed
        label={words.rotate}
        question={words.rotateQuestion}
        busy={rotate.isPending}
        onConfirm={begin}
      >
        <Text>{words.rotateHint}</Text>
        <TextInput
          label={words.overlap}
          description={words.overlapHint}
          value={overlap}
          error={problem}
          onChange={(event) => setOverlap(event.target.value.trim())}
        />
      </Confirmed>
      {rotate.error && <Failure error={rotate.error} what={words.rotateTask} />}
    </Group>
  );
}
