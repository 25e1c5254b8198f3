import { Button, Group, Stack, Text } from '@mantine/core';
import { useNavigate } from 'react-router';
import { type Destination } from '../../../shared/api/operations';
import { useChange } from '../lib/api';
import { useMay } from '../lib/session';
import { Confirmed, Failure, Pill, When } from '../ui/ui';
import { text } from '../texts';

const words = text.endpoint.webhookSwitches;

type Webhook = Destination['webhooks'][number];

interface Props {
  /** of the destination */
  id: string;
  webhooks: readonly Webhook[];
  /** a URL was switched on or off */
  onChanged: () => void;
}

/**
 * The URLs of a destination or of the alerts, each with a switch; and what died while one was off.
 */
export function WebhookSwitches({ id, webhooks, onChanged }: Props) {
  const enable = useChange('POST /destinations/{id}/enable-webhook', {
    says: words.isOn,
    onDone: onChanged,
  });
  const disable = useChange('POST /destinations/{id}/disable-webhook', {
    says: words.isOff,
    onDone: onChanged,
  });
  const mayChange = useMay('POST /destinations/{id}/enable-webhook');
  return (
    <Stack gap="xs">
      {webhooks.map((webhook) => (
        <Group key={webhook.id} gap="sm">
          <Text className="break">{webhook.url ?? words.unknownUrl}</Text>
          <Standing webhook={webhook} />
          {mayChange && webhook.disabled && (
            <Button
              size="xs"
              loading={enable.isPending}
              aria-label={words.enableNamed(webhook.url ?? webhook.id)}
              onClick={() => enable.mutate({ id, body: { webhook: webhook.id } })}
            >
              {words.enable}
            </Button>
          )}
          {mayChange && !webhook.disabled && (
            <Confirmed
              size="xs"
              label={words.disable}
              question={words.disableQuestion}
              busy={disable.isPending}
              onConfirm={() => disable.mutate({ id, body: { webhook: webhook.id } })}
            >
              <Text>{words.disableHint}</Text>
            </Confirmed>
          )}
        </Group>
      ))}
      {enable.data && <Died destination={id} {...enable.data.data} />}
      {enable.error && <Failure error={enable.error} what={words.enableTask} />}
      {disable.error && <Failure error={disable.error} what={words.disableTask} />}
    </Stack>
  );
}

function Standing({ webhook: { disabled } }: { webhook: Webhook }) {
  if (!disabled) return <Pill kind="on" />;
  return (
    <Text size="sm" className="bad">
      {words.off[disabled.reason]} <When at={disabled.at} />
    </Text>
  );
}

interface DiedProps {
  destination: string;
  lostSince: string | null;
  count: number | null;
}

/** Says what died, and offers to send it again. */
function Died({ destination, lostSince, count }: DiedProps) {
  const navigate = useNavigate();
  const mayReplay = useMay('POST /replays');
  const replay = useChange('POST /replays', {
    onDone: ({ data }) => void navigate(`/replays/${data.id}`),
  });
  if (lostSince === null || count === 0) return <Text size="sm">{words.noneDied}</Text>;
  return (
    <Group gap="sm">
      <Text size="sm">{count === null ? words.deadUnknown : words.died(count)}</Text>
      {mayReplay && (
        <Button
          size="xs"
          variant="default"
          loading={replay.isPending}
          onClick={() => replay.mutate({ body: { destination, from: lostSince, status: 'dead' } })}
        >
          {words.replay}
        </Button>
      )}
      {replay.error && <Failure error={replay.error} what={words.replayTask} />}
    </Group>
  );
}
