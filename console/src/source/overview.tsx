import { Text } from '@mantine/core';
import { type Source, type SourceRow } from '../../../shared/api/operations';
import { useRead } from '../lib/api';
import { count, perMinuteInWords, rateInWords } from '../lib/labels';
import { recentCalls } from '../lib/recent-calls';
import { useMay } from '../lib/session';
import { Tile } from '../ui/tile';
import { Empty, LinkButton, Pill, Said, Section, TextLink, Unread, When } from '../ui/ui';
import { SourceEvents } from './events';
import { perMinuteOf, rejectedShare } from './activity';
import { text } from '../texts';

const words = text.source.overview;

/** What a source sends, what of it ingest rejects, and where it goes. */

interface Props {
  source: Source;
  etag: string;
  /** undefined: not known */
  activity: SourceRow['activity'];
}

export function SourceOverview({ source, etag, activity }: Props) {
  const maySee = useMay('GET /events');
  return (
    <>
      {activity && <Figures id={source.id} activity={activity} />}
      {maySee && <RecentCalls id={source.id} />}
      <Connected id={source.id} />
      <SourceEvents source={source} etag={etag} />
    </>
  );
}

interface FiguresProps {
  id: string;
  activity: NonNullable<SourceRow['activity']>;
}

function Figures({ id, activity: { calls, lastCallAt, recent, destinations } }: FiguresProps) {
  const share = rejectedShare(recent);
  return (
    <dl className="tiles">
      <Tile
        name={words.calls}
        value={count(calls)}
        note={lastCallAt === null ? words.noCall : words.lastCall(<When at={lastCallAt} />)}
      />
      <Tile
        name={words.perMinute}
        value={perMinuteInWords(perMinuteOf(recent, Date.now()))}
        note={words.amongLast(count(recent.accepted + recent.rejected))}
      />
      <Tile
        name={words.rejected}
        to={`/sources/${id}/calls?accepted=false`}
        value={share === undefined ? '–' : rateInWords(share)}
        note={words.ofLast(count(recent.rejected), count(recent.accepted + recent.rejected))}
      />
      <Tile
        name={words.destinations}
        value={count(destinations)}
        note={destinations === 0 ? words.goesNowhere : words.getItsCalls}
      />
    </dl>
  );
}

const SHOWN = 200;
const BARS = 60;
const MOST_REASONS = 5;
const LOOK_AGAIN_MS = 30_000;

/** The last calls over time, and the reasons of those that ingest rejected. */
function RecentCalls({ id }: { id: string }) {
  const read = useRead(
    'GET /events',
    { query: { source: id, limit: SHOWN } },
    { every: LOOK_AGAIN_MS, keep: true },
  );
  if (!read.data || read.error) {
    return (
      <Section title={words.recentCalls}>
        <Unread read={read} what={words.theCalls} />
      </Section>
    );
  }
  const recent = recentCalls(read.data.data.data, Date.now(), BARS);
  if (!recent) {
    return (
      <Empty title={words.noCallYet}>
        <Text>{words.noCallHint}</Text>
        <LinkButton primary to={`/sources/${id}/code`}>
          {words.showCode}
        </LinkButton>
      </Empty>
    );
  }
  const { accepted, rejected, since, steps, reasons } = recent;
  return (
    <Section title={words.recentCalls}>
      <Text size="sm" className="quiet">
        {words.summary(count(accepted), count(rejected), <When at={since} />)}
      </Text>
      <CallBars steps={steps} />
      {reasons.length > 0 && (
        <ul className="plain reasons" aria-label={words.reasons}>
          {reasons.slice(0, MOST_REASONS).map(({ reason, count: times }) => (
            <li key={reason}>
              <span className="times">{words.times(count(times))}</span> <Said message={reason} />
            </li>
          ))}
        </ul>
      )}
      <Text size="sm" className="below">
        <TextLink to={`/sources/${id}/calls`}>{words.seeCalls}</TextLink>
      </Text>
    </Section>
  );
}

const HEIGHT = 40;
const WIDTH = 10;

/** A bar for each step. The text above it says the same. */
function CallBars({ steps }: { steps: readonly { accepted: number; rejected: number }[] }) {
  const most = Math.max(1, ...steps.map(({ accepted, rejected }) => accepted + rejected));
  const height = (n: number) => (n / most) * (HEIGHT - 1);
  return (
    <svg
      className="call-bars"
      viewBox={`0 0 ${steps.length * WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <rect className="spark-base" y={HEIGHT - 1} width={steps.length * WIDTH} height="1" />
      {steps.map(({ accepted, rejected }, i) => (
        <g key={i}>
          <rect
            className="spark-calls"
            x={i * WIDTH}
            y={HEIGHT - 1 - height(accepted)}
            width={WIDTH * 0.75}
            height={height(accepted)}
          />
          <rect
            className="spark-wait"
            x={i * WIDTH}
            y={HEIGHT - 1 - height(accepted + rejected)}
            width={WIDTH * 0.75}
            height={height(rejected)}
          />
        </g>
      ))}
    </svg>
  );
}

const MOST_CONNECTED = 10;

/** The destinations that get the calls of the source. */
function Connected({ id }: { id: string }) {
  const mayConnect = useMay('POST /destinations');
  const query = {
    source: id,
    sort: 'name',
    limit: MOST_CONNECTED,
    total: 'true',
  } as const;
  const read = useRead('GET /destinations', { query }, { keep: true });
  if (!read.data || read.error) {
    return (
      <Section title={words.destinations}>
        <Unread read={read} what={words.theDestinations} />
      </Section>
    );
  }
  const { data, total } = read.data.data;
  const more = (total?.count ?? data.length) - data.length;
  return (
    <Section title={words.destinations}>
      {data.length === 0 && (
        <div className="row">
          <Text size="sm">{words.noDestination}</Text>
          {mayConnect && (
            <LinkButton size="xs" to={`/connect/new?sources=${id}`}>
              {words.connectOne}
            </LinkButton>
          )}
        </div>
      )}
      <ul className="plain connected">
        {data.map(({ id: destination, name, enabled, paused }) => (
          <li key={destination} className="row">
            <Pill kind={enabled ? (paused ? 'paused' : 'on') : 'off'} />
            <TextLink to={`/destinations/${destination}`}>
              <bdi>{name}</bdi>
            </TextLink>
          </li>
        ))}
      </ul>
      {more > 0 && (
        <Text size="sm" className="quiet">
          {words.andMore(count(more))}
        </Text>
      )}
    </Section>
  );
}
