import { Button, Group, Stack, Text } from '@mantine/core';
import { type Alerts as Response } from '../../../shared/api/operations';
import { ALERTS_ID } from '../../../shared/model/config';
import { AlertsForm } from '../alerts/alerts-form';
import { RotateAlertsSecret } from '../destination/rotate-secret';
import { useBegun } from '../destination/save';
import { TestResult } from '../destination/test-send';
import { WebhookSwitches } from '../destination/webhook-switches';
import { call, useChange, useRead } from '../lib/api';
import { useMay } from '../lib/session';
import { Page, Section, Unread } from '../ui/ui';
import { NoticeTabs } from './notices';
import { text } from '../texts';

const words = text.setup.alerts;

/**
 * The settings of alerts: rules, URLs, and a sample. Waypost sends alerts about destinations that
 * fail, recover or have dead letters.
 */
export function Alerts() {
  const read = useRead('GET /alerts', {});
  return (
    <Page title={words.alerts} tabs={<NoticeTabs />}>
      <Text>{words.hint}</Text>
      {read.data && !read.error ? (
        <Loaded alerts={read.data.data} etag={read.data.etag ?? ''} />
      ) : (
        <Unread read={read} what={words.theAlerts} />
      )}
    </Page>
  );
}

function Loaded({ alerts, etag }: { alerts: Response; etag: string }) {
  const mayRotate = useMay('POST /alerts/rotate-secret');
  const mayTest = useMay('POST /alerts/test');
  const { begun, restart, beside } = useBegun({ data: alerts, etag });
  return (
    <Stack>
      <Section title={words.rules}>
        <AlertsForm key={begun.times} alerts={begun.data} etag={begun.etag} onSaved={restart} />
      </Section>
      {alerts.webhooks.length > 0 && (
        <Section title={text.endpoint.webhookSwitches.title}>
          <WebhookSwitches
            id={ALERTS_ID}
            webhooks={alerts.webhooks}
            onChanged={() => void call('GET /alerts', {}).then(beside)}
          />
        </Section>
      )}
      {mayTest && alerts.webhooks.length > 0 && (
        <Section title={words.test}>
          <Sample alerts={alerts} />
        </Section>
      )}
      {mayRotate && alerts.hasSharedSecret && (
        <Group>
          <RotateAlertsSecret alerts={alerts} etag={etag} onRotated={beside} />
        </Group>
      )}
    </Stack>
  );
}

function Sample({ alerts }: { alerts: Response }) {
  const send = useChange('POST /alerts/test', { refresh: false });
  return (
    <Stack>
      <Button className="start" loading={send.isPending} onClick={() => send.mutate({})}>
        {words.sendSample}
      </Button>
      <TestResult test={send} webhooks={alerts.webhooks} />
    </Stack>
  );
}
