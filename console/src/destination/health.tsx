import { Text } from '@mantine/core';
import { type Deliveries, type DestinationHealth } from '../../../shared/api/operations';
import { useRead } from '../lib/api';
import { count, counted, latency } from '../lib/labels';
import { Pill, Section, Table, TextLink, Unread, When } from '../ui/ui';

const LOOK_AGAIN_MS = 10_000;
const RECENT = 10;

/** The health of a destination: its state in words, its numbers of the last day, and its last deliveries. */
export function Health({ destination: id }: { destination: string }) {
  const read = useRead('GET /destinations/{id}/health', { id, query: {} }, { every: LOOK_AGAIN_MS, keep: true });
  const query = { destination: id, limit: RECENT };
  const recent = useRead('GET /deliveries', { query }, { every: LOOK_AGAIN_MS, keep: true });
  return (
    <Section title="Health">
      {read.data && !read.error ? (
        <Facts health={read.data.data} destination={id} />
      ) : (
        <Unread read={read} what="the health" />
      )}
      {recent.data && recent.data.data.data.length > 0 && <Recent deliveries={recent.data.data.data} />}
    </Section>
  );
}

function Facts({ health, destination }: { health: DestinationHealth; destination: string }) {
  const { state, stateSince, successRate, perSecond, latencyMs, lastError, waiting, oldestWaitingAt } = health;
  return (
    <>
      <div className="row">
        <Pill kind={state} />
        <span>
          since <When at={stateSince} exact />
        </span>
      </div>
      <dl>
        <dt>Success rate, 24 h</dt>
        <dd>{successRate === null ? 'no attempts' : `${(successRate * 100).toFixed(1)} % of attempts`}</dd>
        <dt>Latency</dt>
        <dd>
          p50 {latency(latencyMs.p50)}, p95 {latency(latencyMs.p95)}, p99 {latency(latencyMs.p99)}
        </dd>
        <dt>Volume</dt>
        <dd>{perSecond < 0.01 && perSecond > 0 ? 'below 0.01' : perSecond.toFixed(2)} per second</dd>
        <dt>Waiting</dt>
        <dd>
          {waiting === 0 ? (
            'none'
          ) : (
            <>
              <TextLink to={`/deliveries?destination=${destination}&status=held`}>
                {waiting === 1 ? '1 delivery' : `${count(waiting)} deliveries`}
              </TextLink>
              , the oldest from <When at={oldestWaitingAt} exact />
            </>
          )}
        </dd>
        <dt>Last error</dt>
        <dd className="break">
          {lastError === null ? (
            'none'
          ) : (
            <>
              <span className="bad">{lastError.status === null ? lastError.message : `HTTP ${lastError.status}`}</span>,{' '}
              <When at={lastError.at} exact />
            </>
          )}
        </dd>
      </dl>
    </>
  );
}

function Recent({ deliveries }: { deliveries: Deliveries['data'] }) {
  return (
    <div className="below">
      <Text fw={600}>Last {counted(deliveries.length, 'message')}</Text>
      <Table label="Last deliveries" head={['Status', 'Message', 'Response', 'Accepted']}>
        {deliveries.map(({ id, status, type, event, lastStatusCode, lastError, acceptedAt }) => (
          <tr key={id}>
            <td>
              <Pill kind={status} />
            </td>
            <td>
              <TextLink to={`/deliveries/${id}`}>{event ?? type}</TextLink>
            </td>
            <td>{lastStatusCode ?? lastError?.code ?? '–'}</td>
            <td>
              <When at={acceptedAt} />
            </td>
          </tr>
        ))}
      </Table>
    </div>
  );
}
