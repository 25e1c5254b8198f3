import { Alert, Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { type Alerts, type Destination } from '../../../shared/api/operations';
import { parseDuration } from '../../../shared/model/time';
import { useChange } from '../lib/api';
import { Code } from '../ui/code';
import { Failure, When } from '../ui/ui';
import { DURATION_PROBLEM } from './plain-draft';
import { text } from '../texts';

const words = text.destination.rotateSecret;

interface Props<T> {
  etag: string;
  onRotated: (response: { data: T; etag: string | undefined }) => void;
}

interface Opened {
  opened: boolean;
  onClose: () => void;
}

/** A dialog that rotates the secret of a destination. */
export function RotateSecretDialog({
  destination,
  etag,
  onRotated,
  ...dialog
}: Props<Destination> & Opened & { destination: Destination }) {
  const rotate = useChange('POST /destinations/{id}/rotate-secret', {
    onDone: ({ data: { sharedSecret, ...data }, etag: tag }) => onRotated({ data, etag: tag }),
  });
  const begin = (overlap: string) =>
    rotate.mutate({ id: destination.id, ifMatch: etag, body: { overlap } });
  return (
    <Rotation rotate={rotate} under={destination.secretRotation} onBegin={begin} {...dialog} />
  );
}

/** Rotates the secret of the alerts. */
export function RotateAlertsSecret({
  alerts,
  etag,
  onRotated,
}: Props<Alerts> & { alerts: Alerts }) {
  const rotate = useChange('POST /alerts/rotate-secret', {
    onDone: ({ data: { sharedSecret, ...data }, etag: tag }) => onRotated({ data, etag: tag }),
  });
  const [open, setOpen] = useState(false);
  const begin = (overlap: string) => rotate.mutate({ ifMatch: etag, body: { overlap } });
  return (
    <>
      <Button variant="default" onClick={() => setOpen(true)}>
        {words.rotateSecret}
      </Button>
      <BothSign under={alerts.secretRotation} />
      <Rotation
        rotate={rotate}
        under={alerts.secretRotation}
        onBegin={begin}
        opened={open}
        onClose={() => setOpen(false)}
      />
    </>
  );
}

interface RotationProps extends Opened {
  rotate: {
    data: { data: { sharedSecret?: string | undefined } } | undefined;
    error: Error | null;
    isPending: boolean;
    reset: () => void;
  };
  /** the current rotation */
  under: Destination['secretRotation'];
  onBegin: (overlap: string) => void;
}

/** Says until when the old secret signs, too. */
export function BothSign({ under }: { under: Destination['secretRotation'] }) {
  if (!under) return null;
  return <Text size="sm">{words.bothSignUntil(<When at={under.overlapUntil} exact />)}</Text>;
}

/**
 * Creates a new secret while the old one stays valid for a time. The new secret is visible once,
 * until the dialog closes.
 */
function Rotation({ rotate, under, onBegin, opened, onClose }: RotationProps) {
  const close = () => {
    onClose();
    // The response holds the secret, so drop it with the dialog.
    rotate.reset();
  };
  const made = rotate.data?.data.sharedSecret;
  return (
    <Modal
      opened={opened}
      onClose={close}
      title={words.rotateSecret}
      // Escape or a click beside the dialog would lose a secret that cannot be shown again.
      closeOnEscape={made === undefined}
      closeOnClickOutside={made === undefined}
      withCloseButton={made === undefined}
    >
      {made === undefined ? (
        <Ask
          until={under?.overlapUntil}
          busy={rotate.isPending}
          error={rotate.error}
          onBegin={onBegin}
        />
      ) : (
        <Stack>
          <Alert color="yellow" title={words.shownOnlyOnce}>
            {words.copyNow}
          </Alert>
          <Code label={words.newSecret} text={made} />
          <Button onClick={close}>{words.done}</Button>
        </Stack>
      )}
    </Modal>
  );
}

interface AskProps {
  /** end of the current rotation */
  until: string | undefined;
  busy: boolean;
  error: Error | null;
  onBegin: (overlap: string) => void;
}

function Ask({ until, busy, error, onBegin }: AskProps) {
  const [overlap, setOverlap] = useState('24h');
  return (
    <Stack>
      <Text>{words.rotateHint}</Text>
      {until !== undefined && <Text>{words.inProgress(<When at={until} exact />)}</Text>}
      <TextInput
        label={words.overlap}
        description={words.overlapHint}
        value={overlap}
        onChange={(event) => setOverlap(event.target.value.trim())}
        error={parseDuration(overlap) === undefined ? DURATION_PROBLEM : undefined}
      />
      {error && <Failure error={error} what={words.rotateTask} />}
      <Group justify="flex-end">
        <Button
          loading={busy}
          disabled={parseDuration(overlap) === undefined}
          onClick={() => onBegin(overlap)}
        >
          {words.rotate}
        </Button>
      </Group>
    </Stack>
  );
}
