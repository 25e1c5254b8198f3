import { Button, Stack, Text } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { type Delivery } from '../../../shared/api/operations';
import { PHASES } from '../../../shared/model/phases';
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
  // A URL that failed is what somebody looks for.
  const failed = attempt.urls.findIndex(({ outcome }) => outcome !== 'delivered');
  const [chosen, setChosen] = useState(Math.max(0, failed));
  const shown = attempt.urls[chosen];
  // The line of the URL says the same.
  const isOne = attempt.urls.length === 1;
  const wordOf = (url: Try) =>
    isTest ? testWord(url.outcome) : urlWord(url.outcome, attempt.outcome);
  return (
    <section className="card" aria-label={heading}>
      <div className="row">
        <strong>{heading}</strong>
        {isOne ? (
          <span className="quiet">
            <When at={attempt.at} exact />
          </span>
        ) : (
          <>
            <Pill kind={isTest ? testWord(attempt.outcome) : attempt.outcome} />
            <span className="quiet">
              <When at={attempt.at} exact />, {latency(tookOf(attempt))}
            </span>
          </>
        )}
      </div>
      <ul className="plain tries">
        {attempt.urls.map((url, i) => (
          <li key={url.url}>
            <TryHead
              of={url}
              word={wordOf(url)}
              choice={isOne ? undefined : { isChosen: i === chosen, onChoose: () => setChosen(i) }}
            />
          </li>
        ))}
      </ul>
      {shown && (
        <TryView of={shown} body={body} isSettled={!isTest && attempt.outcome === 'delivered'} />
      )}
      {notCalled}
    </section>
  );
}

interface TryHeadProps {
  of: Try;
  word: string;
  /** undefined: there is only one */
  choice: { isChosen: boolean; onChoose: () => void } | undefined;
}

function TryHead({ of: url, word, choice }: TryHeadProps) {
  const line = (
    <>
      <Pill kind={word} />
      {url.status !== undefined && <strong>{words.http(url.status)}</strong>}
      <span className="quiet">{latency(url.durationMs)}</span>
      <bdi className="break">{url.address ?? url.request?.url ?? url.origin}</bdi>
    </>
  );
  if (!choice) return <div className="row">{line}</div>;
  return (
    <button className="row try" aria-pressed={choice.isChosen} onClick={choice.onChoose}>
      {line}
    </button>
  );
}

interface TryProps {
  of: Try;
  body: unknown;
  /** a URL has accepted the delivery */
  isSettled: boolean;
}

function TryView({ of: url, body, isSettled }: TryProps) {
  const problem = url.error && errorInWords(url.error, url.status);
  return (
    <Stack gap="xs">
      {problem !== undefined && (
        <Text size="sm" className="warning">
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
      <div className="exchange">
        <RequestView of={url} body={body} />
        <ResponseView response={url.response} />
      </div>
    </Stack>
  );
}

/** The request as far as it is known: the settings of then, and the signature that was sent. */
function RequestView({ of: { batch, request, response }, body }: Pick<TryProps, 'of' | 'body'>) {
  const { changedHeaders = [] } = request ?? {};
  const headers = { ...request?.headers, ...response?.signature };
  const unknown = NOT_STORED_HEADERS.filter(
    (name) => headers[name] === undefined && (batch || name !== DELIVERIES_HEADER),
  );
  const head = request
    ? [
        `${request.method} ${request.url}`,
        ...linesOf(headers),
        ...unknown.map((name) => words.notStored(name)),
      ]
    : linesOf(headers);
  if (head.length === 0 && body === undefined) return null;
  return (
    <div>
      <h3>{words.request}</h3>
      {changedHeaders.length > 0 && (
        <Text size="sm">{words.changedHeaders(changedHeaders.join(', '))}</Text>
      )}
      {head.length > 0 && (
        <>
          <Code label={words.requestHeadersCode} text={head.join('\n')} />
          {!request && (
            <Text size="xs" className="quiet">
              {words.onlySignature}
            </Text>
          )}
        </>
      )}
      {body !== undefined && <BodyView body={body} />}
      {request && body !== undefined && (
        <CopyText text={curlOf({ ...request, body })} label={words.copyAsCurl} />
      )}
    </div>
  );
}

function ResponseView({ response }: { response: Try['response'] }) {
  return (
    <div>
      <h3>{words.response}</h3>
      <ResponseContent response={response} />
    </div>
  );
}

function ResponseContent({ response }: { response: Try['response'] }) {
  if (!response) {
    return (
      <Text size="sm" className="quiet">
        {words.noResponse}
      </Text>
    );
  }
  if (wasNotStored(response)) {
    return (
      <Text size="sm" className="quiet">
        {words.responseNotStored}
      </Text>
    );
  }
  const { headers, body, truncated } = response;
  return (
    <>
      <Code label={words.responseHeaders} text={linesOf(headers).join('\n')} />
      {body === '' ? (
        <Text size="sm" className="quiet">
          {words.noBody}
        </Text>
      ) : (
        <ResponseBody body={body} />
      )}
      {truncated && <Text size="sm">{words.truncated}</Text>}
    </>
  );
}

/** JSON in colours, or as the endpoint has sent it. */
function ResponseBody({ body }: { body: string }) {
  const [isAsSent, setAsSent] = useState(false);
  const value = jsonIn(body);
  if (value === undefined) return <Code label={words.responseCode} text={body} />;
  return (
    <>
      {isAsSent ? (
        <Code label={words.responseCode} text={body} />
      ) : (
        <JsonView label={words.responseCode} value={value} />
      )}
      <Button
        variant="default"
        size="compact-xs"
        aria-pressed={isAsSent}
        onClick={() => setAsSent(!isAsSent)}
      >
        {words.asSent}
      </Button>
    </>
  );
}

/** The phases of a request as parts of a bar, and in words. */
function Phases({ phases }: { phases: NonNullable<Try['phases']> }) {
  const parts = PHASES.flatMap((phase) => {
    const ms = phases[phase];
    return ms === undefined ? [] : [{ phase, ms }];
  });
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
      <Text size="sm" className="quiet row">
        {parts.map(({ phase, ms }) => (
          <span key={phase} className="phase">
            <svg viewBox="0 0 1 1" aria-hidden="true">
              <rect className={`phase-${phase}`} width="1" height="1" />
            </svg>
            {phase} {latency(ms)}
          </span>
        ))}
      </Text>
    </div>
  );
}

function linesOf(headers: Record<string, string>): string[] {
  return Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
}

export function BodyView({ body }: { body: unknown }) {
  if (body === null) return <Text size="sm">{words.bodyExpired}</Text>;
  return <JsonView label={words.body} value={body} />;
}
