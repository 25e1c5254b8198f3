import { Group, Text } from '@mantine/core';
import { useState } from 'react';
import { useNavigate } from 'react-router';
import { type Delivery, type Destination } from '../../../shared/api/operations';
import { isUnderWay } from '../../../shared/model/reasons';
import { useChange } from '../lib/api';
import { counted } from '../lib/labels';
import { useMay } from '../lib/session';
import { Confirmed, Failure } from '../ui/ui';

/** Sends waiting deliveries now, and cancels them: one delivery, or all of a destination. */

const KEEP = 'Keep waiting';

/** The actions for a delivery that waits. They disappear until its history shows their effect. */
export function RecallDelivery({ delivery }: { delivery: Delivery }) {
  const mayRetry = useMay('POST /deliveries/{id}/retry');
  const { id, status, reason, attemptsMade } = delivery;
  const state = `${status}/${reason ?? ''}/${String(attemptsMade)}`;
  const [asked, setAsked] = useState<string>();
  const onDone = () => setAsked(state);
  const retry = useChange('POST /deliveries/{id}/retry', { says: 'It is being sent', onDone });
  const cancel = useChange('POST /deliveries/{id}/cancel', { says: 'It is being cancelled', onDone });
  if (!mayRetry || !isUnderWay(status) || asked === state) return null;
  const error = retry.error ?? cancel.error;
  return (
    <div>
      <Group>
        <Confirmed
          label="Send now"
          question="Send this delivery now?"
          busy={retry.isPending}
          onConfirm={() => retry.mutate({ id })}
        >
          <Text>
            It is the next attempt of its plan, made before its time, even if its endpoint is held back after failures.
            If it fails, the plan continues.
          </Text>
        </Confirmed>
        <Confirmed
          danger
          label="Cancel delivery"
          dismiss={KEEP}
          question="Cancel this delivery?"
          busy={cancel.isPending}
          onConfirm={() => cancel.mutate({ id })}
        >
          <Text>It ends without another attempt. You can replay it later.</Text>
        </Confirmed>
      </Group>
      {error && <Failure error={error} what="change it" />}
    </div>
  );
}

/** The actions for all deliveries that wait at a destination. Each opens the page of its job. */
export function RecallAll({ destination, waiting }: { destination: Destination; waiting: number | undefined }) {
  const mayRetry = useMay('POST /destinations/{id}/retry');
  const navigate = useNavigate();
  const onDone = ({ data }: { data: { id: string } }) => void navigate(`/replays/${data.id}`);
  const retry = useChange('POST /destinations/{id}/retry', { onDone });
  const cancel = useChange('POST /destinations/{id}/cancel', { onDone });
  if (!mayRetry || !waiting) return null;
  const { id, enabled, paused } = destination;
  const error = retry.error ?? cancel.error;
  const many = counted(waiting, 'waiting message');
  return (
    <>
      {enabled && !paused && (
        <Confirmed
          label="Send all now"
          question={`Send ${many} now?`}
          busy={retry.isPending}
          onConfirm={() => retry.mutate({ id, body: {} })}
        >
          <Text>
            They are sent slowly at first, and then as fast as the endpoint responds. Its limit per second holds. The
            ones that fail continue their plan.
          </Text>
        </Confirmed>
      )}
      <Confirmed
        danger
        label="Cancel all waiting"
        dismiss={KEEP}
        question={`Cancel ${many}?`}
        busy={cancel.isPending}
        onConfirm={() => cancel.mutate({ id })}
      >
        <Text>They end without another attempt. You can replay them later.</Text>
      </Confirmed>
      {error && <Failure error={error} what="change them" />}
    </>
  );
}
