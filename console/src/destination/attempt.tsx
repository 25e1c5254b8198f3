import { Stack, Text } from '@mantine/core';
import { type ReactNode } from 'react';
import { type Delivery } from '../../../shared/api/operations';
import { DELIVERIES_HEADER } from '../../../shared/model/batch';
import { NOT_STORED_HEADERS } from '../../../shared/model/webhook-request';
import { testWord, urlWord } from '../../../shared/model/reasons';
import { curlOf } from '../../../shared/model/curl';
import { wasNotStored } from '../../../shared/model/stored-response';
import { latency } from '../lib/labels';
import { JsonView } from '../ui/json-view';
import { Code, CopyText } from '../ui/code';
import { Pill, When } from '../ui/ui';
import { errorInWords, jsonIn } from './attempt-text';
import { tookOf } from './last-attempts';
import { BatchView } from './batch-view';
import { text } from '../texts';

const words = text.destination.attempt;

/** One attempt: the request to each URL, and the response. */

type Attempt = Delivery['attempts'][number];
type Try = Attempt['urls'][number];

interface Props {
  attempt: Omit<Attempt, 'replay'>;
  heading: string;
  /** the body of the request, for a command that repeats it */
  body?: unknown;
  /** a test is not retried */
  isTest?: boolean;
  /** the URLs that the attempt did not call */
  notCalled?: ReactNode;
}

export function AttemptView({ attempt, heading, body, isTest = false, notCalled }: Props) {
  return (
    <section className="card" aria-label={heading}>
      <div className="row">
        <strong>{heading}</strong>
        <Pill kind={isTest ? testWord(attempt.outcome) : attempt.outcome} />
        <span>
          <When at={attempt.at} exact />, {latency(tookOf(attempt))}
        </span>
      </div>
      {attempt.urls.map((url) => (
        <TryView
          key={url.url}
          of={url}
          body={body}
          word={isTest ? testWord(url.outcome) : urlWord(url.outcome, attempt.outcome)}
          isSettled={!isTest && attempt.outcome === 'delivered'}
        />
      ))}
      {notCalled}
    </section>
  );
}

interface TryProps {
  of: Try;
  body: unknown;
  word: string;
  /** a URL has accepted the delivery */
  isSettled: boolean;
}

function TryView({ of: url, body, word, isSettled }: TryProps) {
  const problem = url.error && errorInWords(url.error, url.status);
  return (
    <Stack gap={4} className="try">
      <div className="row">
        <Pill kind={word} />
        {url.status !== undefined && <strong>{words.http(url.status)}</strong>}
        <span className="break">{url.address ?? url.request?.url ?? url.origin}</span>
        <span>{latency(url.durationMs)}</span>
      </div>
      {problem !== undefined && (
        <Text size="sm" className="bad">
          {problem}
        </Text>
      )}
      {isSettled && url.outcome !== 'delivered' && <Text size="sm">{words.notRetried}</Text>}
      {url.phases && <Phases phases={url.phases} />}
      {url.resent && (
        <Text size="sm" className="quiet">
          {words.resent}
        </Text>
      )}
      {url.oddities && <Text size="sm">{words.odd(url.oddities)}</Text>}
      {url.batch && <BatchView batch={url.batch} />}
      {url.request && <RequestView of={url} request={url.request} body={body} />}
      {url.response && <ResponseView response={url.response} />}
    </Stack>
  );
}

interface RequestProps {
  of: Try;
  request: NonNullable<Try['request']>;
  body: unknown;
}

function RequestView({ of: { batch }, request, body }: RequestProps) {
  const { method, url, headers, changedHeaders = [] } = request;
  return (
    <details>
      <summary>{words.requestHeaders}</summary>
      {changedHeaders.length > 0 && (
        <Text size="sm">{words.changedHeaders(changedHeaders.join(', '))}</Text>
      )}
      <Code label={words.requestHeadersCode} text={headerLines(headers)} />
      <Text size="sm" className="quiet">
        {words.notStored(
          NOT_STORED_HEADERS.filter((name) => batch || name !== DELIVERIES_HEADER).join(', '),
        )}
      </Text>
      {body !== undefined && (
        <CopyText text={curlOf({ method, url, headers, body })} label={words.copyAsCurl} />
      )}
    </details>
  );
}

function ResponseView({ response }: { response: NonNullable<Try['response']> }) {
  const { headers, body, truncated } = response;
  const value = jsonIn(body);
  if (wasNotStored(response)) {
    return (
      <Text size="sm" className="quiet">
        {words.responseNotStored}
      </Text>
    );
  }
  return (
    <details>
      <summary>{words.response}</summary>
      <Code label={words.responseHeaders} text={headerLines(headers)} />
      {value === undefined ? (
        <Code label={words.responseCode} text={body} />
      ) : (
        <JsonView label={words.responseCode} value={value} />
      )}
      {truncated && <Text size="sm">{words.truncated}</Text>}
    </details>
  );
}

/** The phases of a request as parts of a bar, and in words. */
function Phases({ phases }: { phases: NonNullable<Try['phases']> }) {
  const parts = Object.entries(phases).map(([phase, ms]) => ({ phase, ms }));
  const total = parts.reduce((sum, { ms }) => sum + ms, 0);
  if (total === 0) return null;
  const starts = parts.map((_, i) => parts.slice(0, i).reduce((sum, { ms }) => sum + ms, 0));
  return (
    <div>
      <svg className="phases" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
        {parts.map(({ phase, ms }, i) => (
          <rect
            key={phase}
            className={`phase-${phase}`}
            x={((starts[i] ?? 0) / total) * 100}
            width={(ms / total) * 100}
            height="6"
          />
        ))}
      </svg>
      <Text size="sm" className="quiet">
        {parts.map(({ phase, ms }) => `${phase} ${latency(ms)}`).join(', ')}
      </Text>
    </div>
  );
}

function headerLines(headers: Record<string, string>): string {
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n');
}

export function BodyView({ body }: { body: unknown }) {
  if (body === null) return <Text size="sm">{words.bodyExpired}</Text>;
  return <JsonView label={words.body} value={body} />;
}
