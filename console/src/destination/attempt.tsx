import { Stack, Text } from '@mantine/core';
import { type Delivery } from '../../../shared/api/operations';
import { latency } from '../lib/labels';
import { Code, json, Pill, When } from '../ui/ui';

/** One attempt: the request to each URL, and the response. */

type Attempt = Delivery['attempts'][number];
type Try = Attempt['urls'][number];

export function AttemptView({ attempt, heading }: { attempt: Omit<Attempt, 'replay'>; heading: string }) {
  return (
    <section className="card" aria-label={heading}>
      <div className="row">
        <strong>{heading}</strong>
        <Pill kind={attempt.outcome} />
        <span>
          <When at={attempt.at} />, {latency(attempt.durationMs)}
        </span>
      </div>
      {attempt.urls.map((url) => (
        <TryView key={url.url} of={url} />
      ))}
    </section>
  );
}

function TryView({ of: url }: { of: Try }) {
  return (
    <Stack gap={4} className="try">
      <div className="row">
        <Pill kind={url.outcome} />
        {url.status !== undefined && <strong>{url.status}</strong>}
        <span className="break">{url.address ?? url.origin}</span>
        <span>{latency(url.durationMs)}</span>
      </div>
      {url.error && (
        <Text size="sm" className="bad">
          {url.error.message} ({url.error.code}
          {url.error.phase === undefined ? '' : ` while ${url.error.phase}`})
        </Text>
      )}
      {url.phases && Object.keys(url.phases).length > 0 && (
        <Text size="sm" className="quiet">
          {Object.entries(url.phases)
            .map(([phase, ms]) => `${phase} ${latency(ms)}`)
            .join(', ')}
        </Text>
      )}
      {url.resent && (
        <Text size="sm" className="quiet">
          A kept connection had broken. The request was sent again over a new one.
        </Text>
      )}
      {url.batch && (
        <Text size="sm" className="quiet">
          Event {url.batch.index + 1} of {url.batch.size} in batch {url.batch.id}.
        </Text>
      )}
      {url.request && (
        <details>
          <summary>Request headers</summary>
          <Code label="request headers" text={headerLines(url.request.headers)} />
        </details>
      )}
      {url.response && (
        <details>
          <summary>Response</summary>
          <Code label="response" text={`${headerLines(url.response.headers)}\n\n${url.response.body}`} />
          {url.response.truncated && <Text size="sm">The response was truncated.</Text>}
        </details>
      )}
    </Stack>
  );
}

function headerLines(headers: Record<string, string>): string {
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n');
}

export function BodyView({ body }: { body: unknown }) {
  if (body === null) return <Text size="sm">Kafka no longer has the body.</Text>;
  return <Code label="body" text={json(body)} />;
}
