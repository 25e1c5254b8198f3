import { Text } from '@mantine/core';
import { useParams, useSearchParams } from 'react-router';
import { useRead } from '../lib/api';
import { useMay } from '../lib/session';
import { AdminsOnly, Page, TextLink, Unread } from '../ui/ui';
import { ChooseIntegration } from './choose-integration';
import { SettingsStep, SourcesAgain, UrlsAgain } from './edit-steps';
import { FirstEvent } from './first-event';
import { ChooseSources } from './sources-step';
import { SwitchStep } from './switch-step';
import { TestStep } from './test-step';
import { UrlsStep } from './urls-step';
import { text } from '../texts';

const words = text.connect.connect;

/**
 * The first-time path, up to the first event. The address holds the step. As soon as there are
 * URLs, the destination is stored, disabled: a reload, or a visit tomorrow, continues at the same
 * step.
 */

const STEPS = ['integration', 'sources', 'urls', 'test', 'settings', 'switch', 'live'] as const;
type Step = (typeof STEPS)[number];

const NAMES: Readonly<Record<Step, string>> = words.names;

export function Connect() {
  const { id, step } = useParams();
  const [search] = useSearchParams();
  const admin = useMay('POST /destinations');
  if (!admin) {
    return (
      <AdminsOnly title={words.connect}>
        <Text>{words.notAllowed}</Text>
      </AdminsOnly>
    );
  }
  const at =
    id === undefined || id === 'new'
      ? early(search)
      : (STEPS.find((name) => name === step) ?? 'test');
  return (
    <Page title={words.connectIntegration}>
      <Progress at={at} id={id === 'new' ? undefined : id} search={search} />
      {id === undefined || id === 'new' ? (
        <Early at={at} search={search} />
      ) : (
        <Stored id={id} at={at} />
      )}
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
  if (!read.data || read.error) return <Unread read={read} what={words.theDestination} />;
  const stored = { destination: read.data.data, etag: read.data.etag ?? '' };
  if (at === 'sources') return <SourcesAgain {...stored} />;
  if (at === 'urls') return <UrlsAgain {...stored} />;
  if (at === 'settings') return <SettingsStep {...stored} />;
  if (at === 'switch') return <SwitchStep {...stored} />;
  if (at === 'live') return <FirstEvent {...stored} />;
  return <TestStep {...stored} />;
}

/** Returns the address of a step that the user can visit; undefined for a later one. */
function linkTo(
  step: Step,
  at: Step,
  id: string | undefined,
  search: URLSearchParams,
): string | undefined {
  if (step === at) return undefined;
  // The integration of a stored destination is fixed.
  if (id !== undefined) return step === 'integration' ? undefined : `/connect/${id}/${step}`;
  if (STEPS.indexOf(step) > STEPS.indexOf(at)) return undefined;
  if (step === 'integration') return '/connect';
  return `/connect/new?${new URLSearchParams({ type: search.get('type') ?? 'webhooks' }).toString()}`;
}

interface ProgressProps {
  at: Step;
  id: string | undefined;
  search: URLSearchParams;
}

function Progress({ at, id, search }: ProgressProps) {
  return (
    <ol className="steps" aria-label={words.steps}>
      {STEPS.map((step) => {
        const to = linkTo(step, at, id, search);
        return (
          <li
            key={step}
            aria-current={step === at ? 'step' : undefined}
            className={STEPS.indexOf(at) > STEPS.indexOf(step) ? 'done' : ''}
          >
            {to === undefined ? NAMES[step] : <TextLink to={to}>{NAMES[step]}</TextLink>}
          </li>
        );
      })}
    </ol>
  );
}
