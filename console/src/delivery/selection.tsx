import { Group, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { type Deliveries } from '../../../shared/api/operations';
import { isUnderWay } from '../../../shared/model/reasons';
import { call } from '../lib/api';
import { count } from '../lib/labels';
import { sayProblem } from '../lib/problems';
import { useMay } from '../lib/session';
import { useToast } from '../ui/toast';
import { Confirmed } from '../ui/ui';
import { inBulk } from './bulk';

type Row = Deliveries['data'][number];

/** The actions for selected deliveries. Each skips the deliveries that it cannot act on. */
export function SelectionBar({ selected, onDone }: { selected: readonly Row[]; onDone: () => void }) {
  const mayReplay = useMay('POST /deliveries/{id}/replay');
  const mayRetry = useMay('POST /deliveries/{id}/retry');
  const ended = selected.filter(({ status }) => !isUnderWay(status));
  const waiting = selected.filter(({ status }) => isUnderWay(status));
  if (selected.length === 0) return null;
  return (
    <Group className="card selection" role="region" aria-label="Selected deliveries">
      <Text fw={600}>{count(selected.length)} selected</Text>
      {mayReplay && (
        <BulkButton
          label={(many) => `Replay ${many}`}
          rows={ended}
          past="replayed"
          act={(id) => call('POST /deliveries/{id}/replay', { id, body: {} })}
          onDone={onDone}
        >
          They go to the current URLs of their destinations, with the same webhook-ids. Receivers get again what was
          already delivered.
        </BulkButton>
      )}
      {mayRetry && (
        <>
          <BulkButton
            label={(many) => `Send ${many} now`}
            rows={waiting}
            past="being sent"
            act={(id) => call('POST /deliveries/{id}/retry', { id })}
            onDone={onDone}
          >
            Each is the next attempt of its plan, made before its time. Those that fail continue their plan.
          </BulkButton>
          <BulkButton
            label={(many) => `Cancel ${many}`}
            rows={waiting}
            past="being cancelled"
            act={(id) => call('POST /deliveries/{id}/cancel', { id })}
            onDone={onDone}
            danger
            dismiss="Keep waiting"
          >
            They end without another attempt. You can replay them later.
          </BulkButton>
        </>
      )}
    </Group>
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
  danger?: boolean;
  dismiss?: string;
}

function BulkButton({ label, past, rows, act, onDone, children, danger = false, dismiss = 'Cancel' }: BulkProps) {
  const [busy, setBusy] = useState(false);
  const toast = useToast();
  const queries = useQueryClient();
  if (rows.length === 0) return null;
  const many = `${count(rows.length)} ${rows.length === 1 ? 'delivery' : 'deliveries'}`;
  const run = async () => {
    setBusy(true);
    const ids = rows.map(({ id }) => id);
    const { done, failed } = await inBulk(ids, act, sayProblem);
    setBusy(false);
    const why = [...new Set(failed.values())][0];
    toast(`${count(done)} ${past}${why === undefined ? '' : `, ${count(failed.size)} not: ${why}`}`);
    void queries.invalidateQueries({ queryKey: ['GET /deliveries'] });
    onDone();
  };
  return (
    <Confirmed
      label={label(count(rows.length))}
      question={`${label(many)}?`}
      busy={busy}
      danger={danger}
      dismiss={dismiss}
      onConfirm={() => void run()}
    >
      <Text>{children}</Text>
    </Confirmed>
  );
}
