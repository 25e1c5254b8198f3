import { Button, Group, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { type Deliveries } from '../../../shared/api/operations';
import { isUnderWay } from '../../../shared/model/reasons';
import { call } from '../lib/api';
import { count } from '../lib/labels';
import { sayProblem } from '../lib/problems';
import { useMay } from '../lib/session';
import { useToast } from '../ui/toast';
import { Confirmed } from '../ui/ui';
import { inBulk } from './bulk';
import { UrlChoice } from './replay';
import { text } from '../texts';

const words = text.delivery.selection;

type Row = Deliveries['data'][number];

/** The actions for selected deliveries. Each skips the deliveries that it cannot act on. */
export function SelectionBar({
  selected,
  onDone,
  more,
}: {
  selected: readonly Row[];
  onDone: () => void;
  /** selects more */
  more?: ReactNode;
}) {
  const mayReplay = useMay('POST /deliveries/{id}/replay');
  const mayRetry = useMay('POST /deliveries/{id}/retry');
  const ended = selected.filter(({ status }) => !isUnderWay(status));
  const waiting = selected.filter(({ status }) => isUnderWay(status));
  if (selected.length === 0) return null;
  return (
    <Group className="card selection" role="region" aria-label={words.selectedDeliveries}>
      <Text fw={600}>{words.selected(count(selected.length))}</Text>
      {more}
      {mayReplay && <ReplayButton rows={ended} onDone={onDone} />}
      {mayRetry && (
        <>
          <BulkButton
            label={(many) => words.sendNow(many)}
            rows={waiting}
            past={words.beingSent}
            act={(id) => call('POST /deliveries/{id}/retry', { id })}
            onDone={onDone}
          >
            {words.sendHint}
          </BulkButton>
          <BulkButton
            label={(many) => words.cancel(many)}
            rows={waiting}
            past={words.beingCancelled}
            act={(id) => call('POST /deliveries/{id}/cancel', { id })}
            onDone={onDone}
            dismiss={words.keepWaiting}
          >
            {words.cancelHint}
          </BulkButton>
        </>
      )}
      <Button variant="subtle" size="compact-sm" color="gray" onClick={onDone}>
        {words.clear}
      </Button>
    </Group>
  );
}

/** Offers a choice of URLs if all rows are of one destination. */
function ReplayButton({ rows, onDone }: { rows: readonly Row[]; onDone: () => void }) {
  const [choice, setChoice] = useState<{ destination: string; webhooks: string[] | null }>();
  const destinations = [...new Set(rows.map(({ destination }) => destination))];
  const only = destinations.length === 1 ? destinations[0] : undefined;
  // The selection may have changed to another destination since.
  const chosen = choice !== undefined && choice.destination === only ? choice.webhooks : null;
  return (
    <BulkButton
      label={(many) => words.replay(many)}
      rows={rows}
      past={words.replayed}
      act={(id) =>
        call('POST /deliveries/{id}/replay', {
          id,
          body: chosen === null ? {} : { webhooks: chosen },
        })
      }
      onDone={onDone}
      incomplete={chosen?.length === 0}
      choice={
        only !== undefined && (
          <UrlChoice
            destination={only}
            chosen={chosen}
            onChoose={(webhooks) => setChoice({ destination: only, webhooks })}
          />
        )
      }
    >
      {words.replayHint}
    </BulkButton>
  );
}

interface BulkProps {
  /** Names the action. @param many the number, alone or with "deliveries" */
  label: (many: string) => string;
  /** the verb of the result: "replayed" */
  past: string;
  rows: readonly Row[];
  act: (id: string) => Promise<unknown>;
  onDone: () => void;
  children: string;
  /** below the hint */
  choice?: ReactNode;
  incomplete?: boolean;
  dismiss?: string;
}

function BulkButton({ label, past, rows, act, onDone, children, choice, ...options }: BulkProps) {
  const { incomplete = false, dismiss = words.dismiss } = options;
  const [busy, setBusy] = useState(false);
  const toast = useToast();
  const queries = useQueryClient();
  if (rows.length === 0) return null;
  const many = words.deliveries(rows.length);
  const run = async () => {
    setBusy(true);
    const ids = rows.map(({ id }) => id);
    const { done, failed } = await inBulk(ids, act, sayProblem);
    setBusy(false);
    const why = [...new Set(failed.values())][0];
    toast(
      why === undefined
        ? words.done(count(done), past)
        : words.doneBut(count(done), past, count(failed.size), why),
    );
    void queries.invalidateQueries({ queryKey: ['GET /deliveries'] });
    onDone();
  };
  return (
    <Confirmed
      label={label(count(rows.length))}
      question={words.question(label(many))}
      busy={busy}
      incomplete={incomplete}
      dismiss={dismiss}
      onConfirm={() => void run()}
    >
      <Text>{children}</Text>
      {choice}
    </Confirmed>
  );
}
