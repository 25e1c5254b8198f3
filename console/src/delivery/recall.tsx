import { Group, Menu, Text } from '@mantine/core';
import { useState } from 'react';
import { type Delivery } from '../../../shared/api/operations';
import { isUnderWay } from '../../../shared/model/reasons';
import { useChange } from '../lib/api';
import { useMay } from '../lib/session';
import { MoreMenu } from '../ui/more-menu';
import { Confirmed, Failure, Question } from '../ui/ui';
import { text } from '../texts';

const words = text.delivery.recall;

/** Sends a waiting delivery now, or cancels it. */

/** The actions for a delivery that waits. They disappear until its history shows their effect. */
export function RecallDelivery({ delivery }: { delivery: Delivery }) {
  const mayRetry = useMay('POST /deliveries/{id}/retry');
  const { id, status, reason, attemptsMade } = delivery;
  const state = `${status}/${reason ?? ''}/${String(attemptsMade)}`;
  const [asked, setAsked] = useState<string>();
  const [isCancelling, setCancelling] = useState(false);
  const onDone = () => setAsked(state);
  const retry = useChange('POST /deliveries/{id}/retry', { says: words.sending, onDone });
  const cancel = useChange('POST /deliveries/{id}/cancel', { says: words.cancelling, onDone });
  if (!mayRetry || !isUnderWay(status) || asked === state) return null;
  const error = retry.error ?? cancel.error;
  return (
    <div>
      <Group>
        <Confirmed
          label={words.sendNow}
          question={words.sendQuestion}
          busy={retry.isPending}
          onConfirm={() => retry.mutate({ id })}
        >
          <Text>{words.sendHint}</Text>
        </Confirmed>
        <MoreMenu label={words.more} width={200}>
          <Menu.Item color="red" onClick={() => setCancelling(true)}>
            {words.cancelDelivery}
          </Menu.Item>
        </MoreMenu>
      </Group>
      <Question
        opened={isCancelling}
        onClose={() => setCancelling(false)}
        danger
        label={words.cancelDelivery}
        dismiss={words.keepWaiting}
        question={words.cancelQuestion}
        onConfirm={() => cancel.mutate({ id })}
      >
        <Text>{words.cancelHint}</Text>
      </Question>
      {error && <Failure error={error} what={words.changeTask} />}
    </div>
  );
}
