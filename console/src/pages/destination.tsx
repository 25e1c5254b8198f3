import { Stack } from '@mantine/core';
import { useParams } from 'react-router';
import { type Destination, type DestinationHealth } from '../../../shared/api/operations';
import { compact } from '../../../shared/collections/defined';
import { DeliveryList } from '../deliveries/list';
import { EditForm } from '../destination/edit-form';
import { Actions, Standing } from '../destination/header';
import { Health } from '../destination/health';
import { BothSign } from '../destination/rotate-secret';
import { useBegun } from '../destination/save';
import { WebhookSwitches } from '../destination/webhook-switches';
import { call, useRead } from '../lib/api';
import { useMay } from '../lib/session';
import { Tabs } from '../ui/tabs';
import { Page, Section, Unread } from '../ui/ui';
import { Changes } from './audit';
import { text } from '../texts';

const words = text.setup.destination;

const LOOK_AGAIN_MS = 10_000;
const WITHIN = { name: words.destinations, to: '/destinations' };

/** One destination in tabs, under a header with its state and what can be done about it. */
export function DestinationPage() {
  const { id = '' } = useParams();
  const read = useRead('GET /destinations/{id}', { id });
  // Both at once: most of the page is the health.
  const health = useRead(
    'GET /destinations/{id}/health',
    { id, query: {} },
    { every: LOOK_AGAIN_MS },
  );
  if (!read.data || read.error) {
    return (
      <Page title={words.destination} within={WITHIN}>
        <Unread read={read} what={words.theDestination} />
      </Page>
    );
  }
  const { data: destination, etag = '' } = read.data;
  return <Loaded key={id} destination={destination} etag={etag} health={health.data?.data} />;
}

interface Props {
  destination: Destination;
  etag: string;
  /** undefined: not read yet */
  health: DestinationHealth | undefined;
}

function Loaded({ destination, etag, health }: Props) {
  const { id } = destination;
  const { tab = '' } = useParams();
  const mayChange = useMay('PATCH /destinations/{id}');
  const { begun, restart, beside } = useBegun({ data: destination, etag });
  return (
    <Page
      title={destination.name}
      within={WITHIN}
      state={<Standing destination={destination} health={health} />}
      actions={<Actions destination={destination} etag={etag} health={health} onChanged={beside} />}
      tabs={<Parts id={id} />}
    >
      {tab === '' && (
        <Stack>
          <Health destination={id} />
          <Section title={text.endpoint.webhookSwitches.title}>
            <WebhookSwitches
              id={id}
              webhooks={destination.webhooks}
              onChanged={() => void call('GET /destinations/{id}', { id }).then(beside)}
            />
          </Section>
        </Stack>
      )}
      {tab === 'deliveries' && <DeliveryList destination={id} />}
      {tab === 'settings' && (
        <>
          <BothSign under={destination.secretRotation} />
          <section className="card" aria-label={words.settings}>
            <EditForm
              key={begun.times}
              destination={begun.data}
              etag={begun.etag}
              onSaved={restart}
              onBeside={beside}
              disabled={!mayChange}
            />
          </section>
        </>
      )}
      {tab === 'changes' && <Changes entry={id} />}
    </Page>
  );
}

function Parts({ id }: { id: string }) {
  const admin = useMay('GET /audit');
  const page = `/destinations/${id}`;
  const tabs = compact([
    { to: page, name: words.overview },
    { to: `${page}/deliveries`, name: words.deliveries },
    { to: `${page}/settings`, name: words.settings },
    admin ? { to: `${page}/changes`, name: words.changes } : undefined,
  ]);
  return <Tabs label={words.parts} tabs={tabs} />;
}
