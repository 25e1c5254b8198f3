import { Stack } from '@mantine/core';
import { Suspense, useState } from 'react';
import { type DestinationHealth } from '../../../shared/api/operations';
import { defined } from '../../../shared/collections/defined';
import { useRead } from '../lib/api';
import { count, causeInWords, latency, perMinuteInWords, rateInWords } from '../lib/labels';
import { everyStep, listOf, type Range, sinceOf } from '../lib/series';
import { spanNamed, USUAL_SPAN_NAME } from '../lib/spans';
import { DestinationCharts, StepTable } from '../ui/lazy-charts';
import { Marks, useMarks } from '../ui/marks';
import { SpanChoice } from '../ui/span-choice';
import { BarSpark, LineSpark, ShareSpark } from '../ui/sparkline';
import { Tile } from '../ui/tile';
import { number, Pill, Table, TextLink, Unread, Waiting as Loading, When } from '../ui/ui';
import { lastAttempts, responseInShort, tookOf } from './last-attempts';
import { text } from '../texts';

const words = text.destination.health;

const LOOK_AGAIN_MS = 10_000;

/**
 * The health of a destination: its state in words, its numbers over time, and its last attempts.
 */
export function Health({ destination: id }: { destination: string }) {
  const [span, setSpan] = useState(USUAL_SPAN_NAME);
  const [zoom, setZoom] = useState<Range>();
  const since = sinceOf(spanNamed(span).ms, Date.now());
  // The header asks for the usual span too: one request answers both.
  const query = span === USUAL_SPAN_NAME ? {} : { since };
  const read = useRead(
    'GET /destinations/{id}/health',
    { id, query: zoom ? { ...zoom } : query },
    { every: LOOK_AGAIN_MS, keep: true },
  );
  const endMs = zoom ? Date.parse(zoom.until) : Date.now();
  const marks = useMarks({ destination: id, since: zoom?.since ?? since, until: zoom?.until });
  // After a failed read, `data` is what an earlier one returned.
  const lastError = read.error ? undefined : read.data?.data.lastError;
  return (
    <>
      <section aria-label={words.health}>
        <Stack gap="sm">
          <div className="row spread">
            <p className="head-state">
              {lastError &&
                words.lastError(
                  <span className="break">{causeInWords(lastError)}</span>,
                  <When at={lastError.at} exact />,
                )}
            </p>
            <div className="row">
              <SpanChoice
                size="xs"
                value={span}
                onChange={(name) => {
                  setSpan(name);
                  setZoom(undefined);
                }}
                onZoomOut={zoom && (() => setZoom(undefined))}
              />
            </div>
          </div>
          {read.data && !read.error ? (
            <Facts
              health={read.data.data}
              destination={id}
              span={zoom ? text.ui.spanChoice.selectedInChart : spanNamed(span).label}
              zoom={zoom}
              endMs={endMs}
            />
          ) : (
            <Unread read={read} what={words.theHealth} />
          )}
        </Stack>
      </section>
      {read.data && (
        <div>
          <h2 className="unseen-head">{words.overTime}</h2>
          <Suspense fallback={<Loading for={text.ui.timeCharts.theCharts} />}>
            <div className="charts three">
              <DestinationCharts
                counted={read.data.data}
                whole={read.data.data.latencyMs}
                endMs={endMs}
                only={id}
                marks={marks}
                onZoom={setZoom}
              />
            </div>
            <Marks marks={marks} />
            <StepTable counted={read.data.data} endMs={endMs} only={id} />
          </Suspense>
        </div>
      )}
      <LastAttempts destination={id} />
    </>
  );
}

interface FactsProps {
  health: DestinationHealth;
  destination: string;
  /** name of the shown time */
  span: string;
  /** undefined: up to now */
  zoom: Range | undefined;
  /** end of the shown time, ms since 1970 */
  endMs: number;
}

function Facts({ health, destination, span, zoom, endMs }: FactsProps) {
  const { within } = text.ui.tile;
  const { successRate, perSecond, latencyMs, waiting, oldestWaitingAt } = health;
  const steps = everyStep(health, health.series, endMs).map(({ found }) => found);
  const dead = steps.reduce((sum, step) => sum + (step?.dead ?? 0), 0);
  const range = { since: health.since, ...defined({ until: zoom?.until }) };
  return (
    <dl className="tiles">
      <Tile
        name={within(words.successRate, span)}
        value={successRate === null ? words.noAttempts : rateInWords(successRate)}
        spark={<BarSpark kind="good" values={steps.map((step) => step?.delivered ?? 0)} />}
        note={words.perMinute(perMinuteInWords(perSecond * 60))}
      />
      <Tile
        name={words.waitingNow}
        to={listOf(destination, {}, 'pending')}
        value={count(waiting)}
        spark={<ShareSpark parts={[{ kind: 'wait', value: waiting }]} />}
        note={waiting === 0 ? words.none : words.oldestFrom(<When at={oldestWaitingAt} exact />)}
      />
      <Tile
        name={within(words.dead, span)}
        to={listOf(destination, range, 'dead')}
        value={count(dead)}
        lost={dead > 0}
        spark={<BarSpark kind="lost" values={steps.map((step) => step?.dead ?? 0)} />}
        note={dead === 0 ? words.noneDead : words.replayHint}
      />
      <Tile
        name={within(words.latency, span)}
        value={latency(latencyMs.p95)}
        spark={<LineSpark values={steps.map((step) => step?.latencyMs.p95 ?? null)} />}
        note={words.percentiles(latency(latencyMs.p50), latency(latencyMs.p99))}
      />
    </dl>
  );
}

const SHOWN = 10;
/** Deliveries with an attempt: while an endpoint fails, the newest ones are held without any. */
const NEWEST = 50;

function LastAttempts({ destination }: { destination: string }) {
  const query = { destination, limit: NEWEST, attempted: 'true' as const };
  const options = { every: LOOK_AGAIN_MS, keep: true };
  const newest = useRead('GET /deliveries', { query }, options);
  // Retries of older messages may be more recent, also those that are held again.
  const pending = useRead('GET /deliveries', { query: { ...query, status: 'pending' } }, options);
  const rows = lastAttempts([newest.data?.data.data ?? [], pending.data?.data.data ?? []], SHOWN);
  if (rows.length === 0) return null;
  return (
    <div>
      <h2>{words.last(words.attempts(rows.length))}</h2>
      <Table
        label={words.lastAttempts}
        className="dense attempts"
        leads
        head={[
          { text: words.when, className: 'c-when' },
          { text: words.result, className: 'c-status' },
          words.message,
          { ...number(words.attempt), className: 'c-attempts' },
          { text: words.response, className: 'c-response' },
          { ...number(words.took), className: 'c-took' },
        ]}
      >
        {rows.map((attempt) => (
          <tr
            key={`${attempt.delivery.id} ${attempt.at}`}
            data-row={`${attempt.delivery.id} ${attempt.at}`}
          >
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
            <td className="number">{count(attempt.n)}</td>
            <td>{responseInShort(attempt)}</td>
            <td className="number">{latency(tookOf(attempt))}</td>
          </tr>
        ))}
      </Table>
    </div>
  );
}
