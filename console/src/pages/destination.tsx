import { Button, Group, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useNavigate, useParams } from 'react-router';
import { type Destination } from '../../../shared/api/operations';
import { EditForm } from '../destination/edit-form';
import { RotateSecret } from '../destination/rotate-secret';
import { TestSend } from '../destination/test-send';
import { useChange, useRead } from '../lib/api';
import { useMay } from '../lib/session';
import { Deletion } from '../ui/deletion';
import { Confirmed, Failure, LinkButton, Page, Section, Unread } from '../ui/ui';
import { State } from './destinations';

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
      {mayTest && (
        <Section title="Test">
          <TestSend destination={destination} />
        </Section>
      )}
      <Section title="Settings">
        <EditForm key={begun.times} {...begun} onSaved={restart} disabled={!mayChange} />
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
  const change = useChange('PATCH /destinations/{id}', { onDone: onChanged });
  const { id, enabled, paused } = destination;
  // Without If-Match: a stop applies regardless of other changes.
  const set = (body: { enabled?: boolean; paused?: boolean }) => change.mutate({ id, body });
  return (
    <section className="card" aria-label="State">
      <div className="row">
        <State of={destination} />
        {operator && !enabled && (
          <Button loading={change.isPending} onClick={() => set({ enabled: true })}>
            Switch on
          </Button>
        )}
        {operator && enabled && (
          <>
            <Button variant="default" loading={change.isPending} onClick={() => set({ paused: !paused })}>
              {paused ? 'Resume' : 'Pause'}
            </Button>
            <Confirmed
              label="Switch off"
              question="Switch off this destination?"
              busy={change.isPending}
              onConfirm={() => set({ enabled: false })}
            >
              <Text>Waiting deliveries are cancelled. To hold them instead, pause the destination.</Text>
            </Confirmed>
          </>
        )}
      </div>
      {change.error && <Failure error={change.error} what="the change" />}
    </section>
  );
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
      <Text>Waiting deliveries are cancelled. Past deliveries stay visible.</Text>
    </Deletion>
  );
}
