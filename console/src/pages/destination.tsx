import { Button, Group, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useNavigate, useParams } from 'react-router';
import { type Destination } from '../../../shared/api/operations';
import { RecallAll } from '../delivery/recall';
import { EditForm } from '../destination/edit-form';
import { Health } from '../destination/health';
import { RotateSecret } from '../destination/rotate-secret';
import { TestSend } from '../destination/test-send';
import { useChange, useRead } from '../lib/api';
import { counted } from '../lib/labels';
import { useMay } from '../lib/session';
import { Deletion } from '../ui/deletion';
import { Confirmed, Failure, LinkButton, Page, Section, Unread } from '../ui/ui';
import { State, Unsigned } from './destinations';

/** One destination: state, settings, test, and deletion. */
export function DestinationPage() {
  const { id = '' } = useParams();
  const admin = useMay('GET /audit');
  const read = useRead('GET /destinations/{id}', { id });
  if (!read.data || read.error) {
    return (
      <Page title="Destination">
        <Unread read={read} what="destination" />
      </Page>
    );
  }
  const { data: destination, etag = '' } = read.data;
  return (
    <Page
      title={destination.name}
      actions={
        <>
          <LinkButton to={`/deliveries?destination=${id}`}>Deliveries</LinkButton>
          <LinkButton to={`/replays?destination=${id}`}>Replay</LinkButton>
          {admin && <LinkButton to={`/audit?entry=${id}`}>Changes</LinkButton>}
        </>
      }
    >
      <Loaded key={id} destination={destination} etag={etag} />
    </Page>
  );
}

interface Props {
  destination: Destination;
  etag: string;
}

function Loaded({ destination, etag }: Props) {
  const mayTest = useMay('POST /destinations/{id}/test');
  const mayChange = useMay('PATCH /destinations/{id}');
  const admin = useMay('DELETE /destinations/{id}');
  // The form keeps its initial version: changes by others appear as a conflict, never silently.
  const [begun, setBegun] = useState({ destination, etag, times: 0 });
  const restart: Saved = ({ data, etag: tag = '' }) => {
    setBegun(({ times }) => ({ destination: data, etag: tag, times: times + 1 }));
  };
  // Changes that this page makes beside the form are not a conflict, and keep the edits of the form.
  const beside: Saved = ({ data, etag: tag = '' }) => {
    setBegun((before) => {
      const onlyOurs = data.version === before.destination.version + 1;
      return onlyOurs ? { ...before, destination: data, etag: tag } : before;
    });
  };
  return (
    <Stack>
      <Switches destination={destination} onChanged={beside} />
      <Health destination={destination.id} />
      {mayTest && (
        <Section title="Test">
          <TestSend destination={destination} />
        </Section>
      )}
      <Section title="Settings">
        <EditForm key={begun.times} {...begun} onSaved={restart} onBeside={beside} disabled={!mayChange} />
      </Section>
      {admin && (
        <Group>
          {destination.hasSharedSecret && <RotateSecret destination={destination} etag={etag} onRotated={beside} />}
          <Delete destination={destination} etag={etag} />
        </Group>
      )}
    </Stack>
  );
}

type Saved = (answer: { data: Destination; etag: string | undefined }) => void;

function Switches({ destination, onChanged }: { destination: Destination; onChanged: Saved }) {
  const operator = useMay('PATCH /destinations/{id}');
  const { id, enabled, paused, hasSharedSecret } = destination;
  const change = useChange('PATCH /destinations/{id}', {
    onDone: onChanged,
    says: ({ data }) => (data.enabled ? (data.paused ? 'Paused' : 'Enabled') : 'Disabled'),
  });
  const waiting = useWaiting(id);
  // Without If-Match: a stop applies regardless of other changes.
  const set = (body: { enabled?: boolean; paused?: boolean }) => change.mutate({ id, body });
  return (
    <section className="card" aria-label="State">
      <div className="row">
        <State of={destination} />
        {!hasSharedSecret && <Unsigned />}
        {operator && !enabled && (
          <Button loading={change.isPending} onClick={() => set({ enabled: true })}>
            Enable
          </Button>
        )}
        {operator && enabled && (
          <>
            <Button variant="default" loading={change.isPending} onClick={() => set({ paused: !paused })}>
              {paused ? 'Resume' : 'Pause'}
            </Button>
            <Confirmed
              danger
              label="Disable"
              question="Disable this destination?"
              busy={change.isPending}
              onConfirm={() => set({ enabled: false })}
            >
              <Text>{waitingInWords(waiting)} To hold deliveries instead, pause the destination.</Text>
            </Confirmed>
          </>
        )}
        <RecallAll destination={destination} waiting={waiting} />
      </div>
      {change.error && <Failure error={change.error} what="change it" />}
    </section>
  );
}

/** Returns the number of deliveries that wait at a destination; undefined until it is known. */
function useWaiting(destination: string): number | undefined {
  const read = useRead('GET /overview', { query: { destination } }, { keep: true });
  const row = read.data?.data.data.find((each) => each.destination === destination);
  return row && row.waiting + row.retrying + row.held;
}

function waitingInWords(waiting: number | undefined): string {
  if (waiting === undefined) return 'Its waiting deliveries are cancelled.';
  if (waiting === 0) return 'No delivery waits there now.';
  return `${counted(waiting, 'waiting message')} will be cancelled.`;
}

function Delete({ destination, etag }: { destination: Destination; etag: string }) {
  const navigate = useNavigate();
  const remove = useChange('DELETE /destinations/{id}', { onDone: () => void navigate('/destinations') });
  return (
    <Deletion
      name={destination.name}
      remove={remove}
      onConfirm={() => remove.mutate({ id: destination.id, ifMatch: etag })}
    >
      <Text>Its waiting deliveries are cancelled. Past deliveries stay visible.</Text>
    </Deletion>
  );
}
