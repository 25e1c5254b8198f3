import { Text, VisuallyHidden } from '@mantine/core';
import { useParams, useSearchParams } from 'react-router';
import { useRead } from '../lib/api';
import { useMay } from '../lib/session';
import { AdminsOnly, Page, TextLink, Unread } from '../ui/ui';
import { EndpointAgain, NewEndpoint } from './endpoint-step';
import { LiveStep } from './live-step';
import { ChooseSources, SourcesAgain } from './source-step';
import { addressOf, markOf, type Step, STEPS, testedOf, type Tested } from './steps';
import { TestStep } from './test-step';
import { text } from '../texts';

const words = text.connect.connect;

/**
 * The first-time path, up to the first event. The address holds the step, and how the test ended.
 * As soon as there is an endpoint, the destination is stored, disabled: a reload, or a visit
 * tomorrow, continues at the same step.
 */
export function Connect() {
  const { id: given, step } = useParams();
  const [search] = useSearchParams();
  const admin = useMay('POST /destinations');
  if (!admin) {
    return (
      <AdminsOnly title={words.connect}>
        <Text>{words.notAllowed}</Text>
      </AdminsOnly>
    );
  }
  const id = given === 'new' ? undefined : given;
  const sources = search.get('sources');
  const early = sources === null ? 'source' : 'endpoint';
  const at = id === undefined ? early : (STEPS.find((name) => name === step) ?? 'test');
  const tested = testedOf(search.get('test'));
  const read = useRead('GET /destinations/{id}', { id: id ?? '' }, { enabled: id !== undefined });
  return (
    <Page title={words.connectIntegration}>
      <Progress at={at} id={id} tested={tested} isLive={read.data?.data.enabled === true} />
      {id !== undefined && <Stored key={id} read={read} at={at} />}
      {id === undefined && sources === null && <ChooseSources />}
      {id === undefined && sources !== null && (
        <NewEndpoint sources={sources.split(',').filter((source) => source !== '')} />
      )}
    </Page>
  );
}

interface StoredProps {
  read: ReturnType<typeof useRead<'GET /destinations/{id}'>>;
  at: Step;
}

function Stored({ read, at }: StoredProps) {
  if (!read.data || read.error) return <Unread read={read} what={words.theDestination} />;
  const stored = { destination: read.data.data, etag: read.data.etag ?? '' };
  switch (at) {
    case 'source':
      return <SourcesAgain {...stored} />;
    case 'endpoint':
      return <EndpointAgain {...stored} />;
    case 'test':
      return <TestStep destination={stored.destination} />;
    case 'live':
      return <LiveStep {...stored} />;
  }
}

interface ProgressProps {
  at: Step;
  id: string | undefined;
  tested: Tested;
  isLive: boolean;
}

function Progress({ at, id, tested, isLive }: ProgressProps) {
  return (
    <ol className="steps" aria-label={words.steps}>
      {STEPS.map((step, i) => {
        const mark = markOf(step, { id, at, tested, isLive });
        const to = step === at ? undefined : addressOf(step, { id, tested });
        const name = words.names[step];
        return (
          <li key={step} aria-current={step === at ? 'step' : undefined} className={`step-${mark}`}>
            <span className="step-mark" aria-hidden="true">
              {mark === 'open' ? i + 1 : SIGNS[mark]}
            </span>
            <span>
              {to === undefined ? name : <TextLink to={to}>{name}</TextLink>}
              {mark !== 'open' && <VisuallyHidden>{words.marks[mark]}</VisuallyHidden>}
            </span>
          </li>
        );
      })}
    </ol>
  );
}

const SIGNS = { done: '✓', failed: '✗' } as const;
