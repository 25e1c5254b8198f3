import { Text } from '@mantine/core';
import { useParams, useSearchParams } from 'react-router';
import { useRead } from '../lib/api';
import { useMay } from '../lib/session';
import { AdminsOnly, Page, TextLink, Unread } from '../ui/ui';
import { ChooseIntegration } from './choose-integration';
import { FirstEvent } from './first-event';
import { SettingsStep } from './settings-step';
import { ChooseSources } from './sources-step';
import { SwitchStep } from './switch-step';
import { TestStep } from './test-step';
import { UrlsStep } from './urls-step';

/**
 * The first-time path, up to the first event. The address holds the step. As soon as there are URLs, the destination
 * is stored, disabled: a reload, or a visit tomorrow, continues at the same step.
 */

const STEPS = ['integration', 'sources', 'urls', 'test', 'settings', 'switch', 'live'] as const;
type Step = (typeof STEPS)[number];

const NAMES: Readonly<Record<Step, string>> = {
  integration: 'Integration',
  sources: 'Sources',
  urls: 'URLs',
  test: 'Test',
  settings: 'Settings',
  switch: 'Switch on',
  live: 'First event',
};

export function Connect() {
  const { id, step } = useParams();
  const [search] = useSearchParams();
  const admin = useMay('POST /destinations');
  if (!admin) {
    return (
      <AdminsOnly title="Connect">
        <Text>Users who can create destinations can also read the messages sent to them.</Text>
      </AdminsOnly>
    );
  }
  const at = id === undefined || id === 'new' ? early(search) : (STEPS.find((name) => name === step) ?? 'test');
  return (
    <Page title="Connect an integration">
      <Progress at={at} id={id === 'new' ? undefined : id} />
      {id === undefined || id === 'new' ? <Early at={at} search={search} /> : <Stored id={id} at={at} />}
    </Page>
  );
}

/** Before the destination exists, the address holds the choices. */
function early(search: URLSearchParams): Step {
  if (search.get('type') === null) return 'integration';
  return search.get('sources') === null ? 'sources' : 'urls';
}

function Early({ at, search }: { at: Step; search: URLSearchParams }) {
  if (at === 'integration') return <ChooseIntegration />;
  if (at === 'sources') return <ChooseSources />;
  return <UrlsStep sources={(search.get('sources') ?? '').split(',').filter((id) => id !== '')} />;
}

function Stored({ id, at }: { id: string; at: Step }) {
  const read = useRead('GET /destinations/{id}', { id });
  if (!read.data || read.error) return <Unread read={read} what="destination" />;
  const stored = { destination: read.data.data, etag: read.data.etag ?? '' };
  if (at === 'settings') return <SettingsStep {...stored} />;
  if (at === 'switch') return <SwitchStep {...stored} />;
  if (at === 'live') return <FirstEvent {...stored} />;
  return <TestStep {...stored} />;
}

function Progress({ at, id }: { at: Step; id: string | undefined }) {
  return (
    <ol className="steps" aria-label="Steps">
      {STEPS.map((step, i) => {
        const stored = i >= STEPS.indexOf('test') && id !== undefined;
        return (
          <li
            key={step}
            aria-current={step === at ? 'step' : undefined}
            className={STEPS.indexOf(at) > i ? 'done' : ''}
          >
            {stored && step !== at ? <TextLink to={`/connect/${id}/${step}`}>{NAMES[step]}</TextLink> : NAMES[step]}
          </li>
        );
      })}
    </ol>
  );
}
