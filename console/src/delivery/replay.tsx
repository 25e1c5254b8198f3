import { Text } from '@mantine/core';
import { useState } from 'react';
import { type Delivery } from '../../../shared/api/operations';
import { ALERTS_ID } from '../../../shared/model/config';
import { isUnderWay } from '../../../shared/model/reasons';
import { useChange, useRead } from '../lib/api';
import { useMay } from '../lib/session';
import { AllOrSome } from '../ui/all-or-some';
import { Confirmed, Failure } from '../ui/ui';
import { text } from '../texts';

const words = text.watch.delivery;

interface ReplayProps {
  delivery: Delivery;
  /** receives the number of this replay */
  onSent: (replay: number) => void;
}

/** Sends one delivery again, to all URLs of its destination or to some. */
export function Replay({ delivery: { id, status, destination }, onSent }: ReplayProps) {
  const operator = useMay('POST /deliveries/{id}/replay');
  /** ids of webhooks; null: all */
  const [chosen, setChosen] = useState<string[] | null>(null);
  const replay = useChange('POST /deliveries/{id}/replay', {
    says: words.replayStarted,
    onDone: ({ data }) => onSent(data.replay),
  });
  // The API refuses to replay an alert: each of its channels needs another body.
  if (!operator || isUnderWay(status) || destination === ALERTS_ID) return null;
  return (
    <div>
      <Confirmed
        label={words.replay}
        question={words.replayQuestion}
        busy={replay.isPending}
        incomplete={chosen?.length === 0}
        onConfirm={() => replay.mutate({ id, body: chosen === null ? {} : { webhooks: chosen } })}
      >
        <Text>{status === 'delivered' ? words.replayHintDelivered : words.replayHint}</Text>
        <UrlChoice destination={destination} chosen={chosen} onChoose={setChosen} />
      </Confirmed>
      {replay.error && <Failure error={replay.error} what={words.replayTask} />}
    </div>
  );
}

interface ChoiceProps {
  destination: string;
  chosen: string[] | null;
  onChoose: (webhooks: string[] | null) => void;
}

/** Offers a choice if the destination has several URLs. */
export function UrlChoice({ destination, chosen, onChoose }: ChoiceProps) {
  const read = useRead('GET /destinations/{id}', { id: destination });
  const webhooks = read.data?.data.webhooks ?? [];
  if (webhooks.length < 2) return null;
  return (
    <AllOrSome
      legend={words.sendTo}
      all={words.allUrls}
      label={words.urls}
      options={webhooks.map(({ id, url }) => [id, url ?? id] as const)}
      value={chosen}
      onChange={onChoose}
      error={chosen?.length === 0 ? words.chooseUrl : undefined}
    />
  );
}
