import { Menu, Text } from '@mantine/core';
import { useState } from 'react';
import { type Delivery } from '../../../shared/api/operations';
import { isUnderWay } from '../../../shared/model/reasons';
import { useChange } from '../lib/api';
import { useMay } from '../lib/session';
import { MoreMenu } from '../ui/more-menu';
import { Confirmed, Failure, Question } from '../ui/ui';
import { text } from '../texts';

const words = text.delivery.recall;

/** The actions for a delivery that waits: it is sent now, or cancelled. */

/**
 * Returns whether the user may act on a delivery, and what to call once they have: the actions
 * disappear until its history shows their effect.
 * @param delivery undefined: not read yet
 */
export function useRecall(delivery: Delivery | undefined) {
  const mayRetry = useMay('POST /deliveries/{id}/retry');
  const [asked, setAsked] = useState<string>();
  const state = delivery && stateOf(delivery);
  return {
    mayRecall: mayRetry && isUnderWay(delivery?.status) && asked !== state,
    onRecalled: () => setAsked(state),
  };
}

function stateOf({ id, status, reason, attemptsMade }: Delivery): string {
  return [id, status, reason ?? '', String(attemptsMade)].join('/');
}

interface Props {
  id: string;
  onDone: () => void;
}

export function SendNow({ id, onDone }: Props) {
  const retry = useChange('POST /deliveries/{id}/retry', { says: words.sending, onDone });
  return (
    <div>
      <Confirmed
        label={words.sendNow}
        question={words.sendQuestion}
        busy={retry.isPending}
        onConfirm={() => retry.mutate({ id })}
      >
        <Text>{words.sendHint}</Text>
      </Confirmed>
      {retry.error && <Failure error={retry.error} what={words.changeTask} />}
    </div>
  );
}

export function CancelDelivery({ id, onDone }: Props) {
  const [isCancelling, setCancelling] = useState(false);
  const cancel = useChange('POST /deliveries/{id}/cancel', { says: words.cancelling, onDone });
  return (
    <div>
      <MoreMenu label={words.more} width={200}>
        <Menu.Item onClick={() => setCancelling(true)}>{words.cancelDelivery}</Menu.Item>
      </MoreMenu>
      <Question
        opened={isCancelling}
        onClose={() => setCancelling(false)}
        label={words.cancelDelivery}
        dismiss={words.keepWaiting}
        question={words.cancelQuestion}
        onConfirm={() => cancel.mutate({ id })}
      >
        <Text>{words.cancelHint}</Text>
      </Question>
      {cancel.error && <Failure error={cancel.error} what={words.changeTask} />}
    </div>
  );
}
