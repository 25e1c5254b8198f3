import { Button, Text } from '@mantine/core';
import { lazy, Suspense, useState } from 'react';
import { type DestinationHealth } from '../../../shared/api/operations';
import { useRead } from '../lib/api';
import { count, causeInWords, latency, rateInWords } from '../lib/labels';
import { type Range } from '../lib/series';
import { Pill, Section, Table, TextLink, Unread, Waiting as Loading, When } from '../ui/ui';
import { lastAttempts, responseInShort } from './last-attempts';
import { text } from '../texts';

const words = text.destination.health;

const LOOK_AGAIN_MS = 10_000;

/** Half of the console's code is that of charts: a page that shows one loads it. */
const charts = () => import('../ui/time-charts');
const DeliveriesChart = lazy(() =>
  charts().then((module) => ({ default: module.DeliveriesChart })),
);
const LatencyChart = lazy(() => charts().then((module) => ({ default: module.LatencyChart })));

/**
 * The health of a destination: its state in words, its numbers over time, and its last attempts.
 */
export function Health({ destination: id }: { destination: string }) {
  const [zoom, setZoom] = useState<Range>();
  const read = useRead(
    'GET /destinations/{id}/health',
    { id, query: { ...zoom } },
    { every: LOOK_AGAIN_MS, keep: true },
  );
  return (
    <Section title={words.health}>
      {read.data && !read.error ? (
        <>
          <Facts health={read.data.data} destination={id} zoom={zoom} />
          <OverTime health={read.data.data} destination={id} zoom={zoom} onZoom={setZoom} />
        </>
      ) : (
        <Unread read={read} what={words.theHealth} />
      )}
      <LastAttempts destination={id} />
    </Section>
  );
}

interface Props {
  health: DestinationHealth;
  destination: string;
  /** undefined: the last day */
  zoom: Range | undefined;
}

function OverTime({
  health,
  destination,
  zoom,
  onZoom,
}: Props & { onZoom: (range: Range | undefined) => void }) {
  if (health.series.length === 0 && !zoom) return null;
  const endMs = zoom ? Date.parse(zoom.until) : Date.now();
  return (
    <div className="below">
      {zoom && (
        <Button size="xs" variant="default" onClick={() => onZoom(undefined)}>
          {words.zoomOut}
        </Button>
      )}
      <div className="charts">
        <Suspense fallback={<Loading for={words.theCharts} />}>
          <DeliveriesChart counted={health} endMs={endMs} only={destination} onZoom={onZoom} />
          <LatencyChart counted={health} whole={health.latencyMs} endMs={endMs} />
        </Suspense>
      </div>
    </div>
  );
}

function Facts({ health, destination, zoom }: Props) {
  const {
    state,
    stateSince,
    successRate,
    perSecond,
    latencyMs,
    lastError,
    waiting,
    oldestWaitingAt,
  } = health;
  return (
    <>
      <div className="row">
        <Pill kind={state} />
        <span>{words.since(<When at={stateSince} exact />)}</span>
      </div>
      <dl>
        <dt>{words.successRate(zoom ? words.selectedTime : words.lastDay)}</dt>
        <dd>
          {successRate === null ? words.noAttempts : words.ofAttempts(rateInWords(successRate))}
        </dd>
        <dt>{words.latency}</dt>
        <dd>
          {words.percentiles(
            latency(latencyMs.p50),
            latency(latencyMs.p95),
            latency(latencyMs.p99),
          )}
        </dd>
        <dt>{words.volume}</dt>
        <dd>
          {words.perSecond(
            perSecond < 0.01 && perSecond > 0 ? words.almostNone : perSecond.toFixed(2),
          )}
        </dd>
        <dt>{words.waiting}</dt>
        <dd>
          {waiting === 0 ? (
            words.none
          ) : (
            <>
              {words.oldestFrom(words.messages(waiting), <When at={oldestWaitingAt} exact />)}
              <Waiting destination={destination} />
            </>
          )}
        </dd>
        <dt>{words.lastError}</dt>
        <dd className="break">
          {lastError === null ? (
            words.none
          ) : (
            <>
              <span className="bad">{causeInWords(lastError)}</span>,{' '}
              <When at={lastError.at} exact />
            </>
          )}
        </dd>
      </dl>
    </>
  );
}

/** Leads to the open deliveries of each status. */
function Waiting({ destination }: { destination: string }) {
  return (['held', 'retrying', 'waiting'] as const).map((status, i) => (
    <span key={status}>
      {i > 0 && ', '}
      <TextLink to={`/deliveries?${new URLSearchParams({ destination, status }).toString()}`}>
        {status}
      </TextLink>
    </span>
  ));
}

const SHOWN = 10;
/** Retries of older messages may be more recent, so the page reads these as well. */
const NEWEST = 50;

function LastAttempts({ destination }: { destination: string }) {
  const query = { destination, limit: NEWEST };
  const options = { every: LOOK_AGAIN_MS, keep: true };
  const newest = useRead('GET /deliveries', { query }, options);
  const retried = useRead('GET /deliveries', { query: { ...query, status: 'retrying' } }, options);
  const rows = lastAttempts([newest.data?.data.data ?? [], retried.data?.data.data ?? []], SHOWN);
  if (rows.length === 0) return null;
  return (
    <div className="below">
      <Text fw={600}>{words.last(words.attempts(rows.length))}</Text>
      <Table
        label={words.lastAttempts}
        head={[words.when, words.result, words.message, words.attempt, words.response, words.took]}
      >
        {rows.map((attempt) => (
          <tr key={`${attempt.delivery.id} ${attempt.at}`}>
            <td>
              <When at={attempt.at} exact />
            </td>
            <td>
              <Pill kind={attempt.outcome} />
            </td>
            <td>
              <TextLink to={`/deliveries/${attempt.delivery.id}`}>
                {attempt.delivery.event ?? attempt.delivery.type}
              </TextLink>
            </td>
            <td>{count(attempt.n)}</td>
            <td>{responseInShort(attempt)}</td>
            <td>{latency(attempt.durationMs)}</td>
          </tr>
        ))}
      </Table>
    </div>
  );
}
