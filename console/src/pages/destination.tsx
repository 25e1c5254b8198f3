import { Button, Group, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useNavigate, useParams } from 'react-router';
import { type Destination } from '../../../shared/api/operations';
import { RecallAll } from '../delivery/recall';
import { EditForm } from '../destination/edit-form';
import { Health } from '../destination/health';
import { RotateSecret } from '../destination/rotate-secret';
import { TestSend } from '../destination/test-send';
import { WebhookSwitches } from '../destination/webhook-switches';
import { call, useChange, useRead } from '../lib/api';
import { useMay } from '../lib/session';
import { Deletion } from '../ui/deletion';
import { Confirmed, Failure, LinkButton, Page, Section, Unread } from '../ui/ui';
import { State, Unsigned } from './destinations';
import { text } from '../texts';

const words = text.setup.destination;

/** One destination: state, settings, test, and deletion. */
export function DestinationPage() {
  const { id = '' } = useParams();
  const admin = useMay('GET /audit');
  const read = useRead('GET /destinations/{id}', { id });
  if (!read.data || read.error) {
    return (
      <Page title={words.destination}>
        <Unread read={read} what={words.theDestination} />
      </Page>
    );
  }
  const { data: destination, etag = '' } = read.data;
  return (
    <Page
      title={destination.name}
      actions={
        <>
          <LinkButton to={`/deliveries?destination=${id}`}>{words.deliveries}</LinkButton>
          <LinkButton to={`/replays?destination=${id}`}>{words.replay}</LinkButton>
          {admin && <LinkButton to={`/audit?entry=${id}`}>{words.changes}</LinkButton>}
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
  // Changes that this page makes beside the form are not a conflict, and keep the edits of the
  // form.
  const beside: Saved = ({ data, etag: tag = '' }) => {
    setBegun((before) => {
      const onlyOurs = data.version === before.destination.version + 1;
      return onlyOurs ? { ...before, destination: data, etag: tag } : before;
    });
  };
  return (
    <Stack>
      <Switches destination={destination} onChanged={beside} />
      <Section title={text.endpoint.webhookSwitches.title}>
        <WebhookSwitches
          id={destination.id}
          webhooks={destination.webhooks}
          onChanged={() => void call('GET /destinations/{id}', { id: destination.id }).then(beside)}
        />
      </Section>
      <Health destination={destination.id} />
      {mayTest && (
        <Section title={words.test}>
          <TestSend destination={destination} />
        </Section>
      )}
      <Section title={words.settings}>
        <EditForm
          key={begun.times}
          {...begun}
          onSaved={restart}
          onBeside={beside}
          disabled={!mayChange}
        />
      </Section>
      {admin && (
        <Group>
          {destination.hasSharedSecret && (
            <RotateSecret destination={destination} etag={etag} onRotated={beside} />
          )}
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
    says: ({ data }) =>
      data.enabled ? (data.paused ? words.paused : words.enabled) : words.disabled,
  });
  const waiting = useWaiting(id);
  // Without If-Match: a stop applies regardless of other changes.
  const set = (body: { enabled?: boolean; paused?: boolean }) => change.mutate({ id, body });
  return (
    <section className="card" aria-label={words.state}>
      <div className="row">
        <State of={destination} />
        {!hasSharedSecret && <Unsigned />}
        {operator && !enabled && (
          <Button loading={change.isPending} onClick={() => set({ enabled: true })}>
            {words.enable}
          </Button>
        )}
        {operator && enabled && (
          <>
            <Button
              variant="default"
              loading={change.isPending}
              onClick={() => set({ paused: !paused })}
            >
              {paused ? words.resume : words.pause}
            </Button>
            <Confirmed
              danger
              label={words.disable}
              question={words.disableQuestion}
              busy={change.isPending}
              onConfirm={() => set({ enabled: false })}
            >
              <Text>{words.disableHint(waitingInWords(waiting))}</Text>
            </Confirmed>
          </>
        )}
        <RecallAll destination={destination} waiting={waiting} />
      </div>
      {change.error && <Failure error={change.error} what={words.changeTask} />}
    </section>
  );
}

/** Returns the number of deliveries that wait at a destination; undefined until it is known. */
function useWaiting(destination: string): number | undefined {
  const read = useRead(
    'GET /overview',
    { query: { destination, ids: destination } },
    { keep: true },
  );
  const [row] = read.data?.data.data ?? [];
  return row && row.waiting + row.retrying + row.held;
}

function waitingInWords(waiting: number | undefined): string {
  if (waiting === undefined) return words.waitingCancelled;
  if (waiting === 0) return words.noneWaits;
  return words.willBeCancelled(words.waitingMessages(waiting));
}

function Delete({ destination, etag }: { destination: Destination; etag: string }) {
  const navigate = useNavigate();
  const waiting = useWaiting(destination.id);
  const remove = useChange('DELETE /destinations/{id}', {
    onDone: () => void navigate('/destinations'),
  });
  return (
    <Deletion
      name={destination.name}
      remove={remove}
      onConfirm={() => remove.mutate({ id: destination.id, ifMatch: etag })}
    >
      <Text>{words.deletionHint(waitingInWords(waiting))}</Text>
    </Deletion>
  );
}
