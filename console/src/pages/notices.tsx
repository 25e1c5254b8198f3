import { Button } from '@mantine/core';
import { type Notice } from '../../../shared/api/operations';
import { LASTING_KINDS, NOTICE_KINDS } from '../../../shared/model/notice-kinds';
import { useChange, useRead } from '../lib/api';
import { useMay } from '../lib/session';
import { count, noticeInWords, placeOf, stateInWords } from '../lib/labels';
import { groupsOf } from '../lib/notice-groups';
import { listOf } from '../lib/series';
import { EntryFilter } from '../ui/entry-picker';
import {
  ChoiceFilter,
  FilterBar,
  type Named,
  Pager,
  SelectFilter,
  useFilters,
} from '../ui/filters';
import { Tabs } from '../ui/tabs';
import {
  Empty,
  Failure,
  Listed,
  NameLink,
  number,
  Page,
  Pill,
  Table,
  TextLink,
  When,
} from '../ui/ui';
import { text } from '../texts';

const words = text.watch.notices;

const FILTERS = ['kind', 'destination', 'open', 'acknowledged', 'after'] as const;

/** Notices about destinations and profiles in trouble, and how each ended. */
export function Notices() {
  const filters = useFilters();
  const query = { ...filters.query(FILTERS), total: 'true' as const };
  const read = useRead('GET /notices', { query }, { every: 5_000, keep: true });
  return (
    <Page title={words.notices} tabs={<NoticeTabs />}>
      <FilterBar filters={filters} label={words.filter}>
        <ChoiceFilter filters={filters} name="kind" label={words.kind} options={NOTICE_KINDS} />
        <EntryFilter
          filters={filters}
          name="destination"
          label={words.destination}
          kind="destinations"
        />
        <TruthFilter
          filters={filters}
          name="open"
          label={words.show}
          yes={words.open}
          no={words.resolved}
        />
        <TruthFilter
          filters={filters}
          name="acknowledged"
          label={words.acknowledged}
          yes={words.isAcknowledged}
          no={words.notAcknowledged}
        />
      </FilterBar>
      <Listed
        read={read}
        what={words.theNotices}
        empty={<Empty title={filters.any ? words.nothingMatches : words.noNotices} />}
      >
        {(notices) => <List notices={notices} />}
      </Listed>
      <Pager filters={filters} page={read.data?.data} />
    </Page>
  );
}

/** Notices, and the rules that decide who hears of them. */
export function NoticeTabs() {
  const tabs = [
    { to: '/notices', name: words.notices },
    { to: '/alerts', name: words.alerts },
  ];
  return <Tabs label={words.notices} tabs={tabs} />;
}

function TruthFilter({ yes, no, ...named }: Named & { yes: string; no: string }) {
  const options = [
    { value: 'true', label: yes },
    { value: 'false', label: no },
  ];
  return <SelectFilter {...named} options={options} />;
}

function List({ notices }: { notices: Notice[] }) {
  const acknowledge = useChange('POST /notices/{id}/acknowledge');
  const acknowledgeAll = useChange('POST /notices/acknowledge');
  const error = acknowledge.error ?? acknowledgeAll.error;
  const hasReceiver = useHasReceiver();
  return (
    <>
      {error && <Failure error={error} what={words.acknowledgeTask} />}
      <SameOrigin
        notices={notices}
        onAcknowledge={(ids) => acknowledgeAll.mutate({ body: { ids } })}
      />
      <Table
        label={words.notices}
        head={[
          words.when,
          words.kind,
          words.destination,
          words.what,
          words.alert,
          words.acknowledged,
        ]}
      >
        {notices.map((notice) => (
          <Row
            key={notice.id}
            notice={notice}
            hasReceiver={hasReceiver}
            onAcknowledge={() => acknowledge.mutate({ id: notice.id })}
          />
        ))}
      </Table>
    </>
  );
}

interface SameOriginProps {
  notices: Notice[];
  /** The person sees these, and no others of their origin that stand elsewhere. */
  onAcknowledge: (ids: string[]) => void;
}

/** Several notices about one server are often one trouble, which one person looks after. */
function SameOrigin({ notices, onAcknowledge }: SameOriginProps) {
  const operator = useMay('POST /notices/acknowledge');
  const groups = groupsOf(notices);
  if (!operator || groups.length === 0) return null;
  return (
    <div>
      <h2>{words.sameOrigin}</h2>
      <Table
        label={words.sameOrigin}
        head={[
          words.server,
          number(words.notices),
          number(words.destinations),
          { text: words.acknowledged, className: 'act' },
        ]}
      >
        {groups.map(({ origin, unacknowledged, destinations }) => (
          <tr key={origin}>
            <td className="break">{origin}</td>
            <td className="number">{count(unacknowledged.length)}</td>
            <td className="number">{count(destinations)}</td>
            <td className="act">
              <Button
                size="compact-sm"
                variant="default"
                aria-label={words.acknowledgeOrigin(origin)}
                onClick={() => onAcknowledge(unacknowledged)}
              >
                {words.acknowledgeAll}
              </Button>
            </td>
          </tr>
        ))}
      </Table>
    </div>
  );
}

/** Returns whether somebody gets alerts, as far as the user may know. */
function useHasReceiver(): boolean {
  const read = useRead('GET /alerts', {}, { enabled: useMay('GET /alerts') });
  if (!read.data) return true;
  const { enabled, webhooks, email } = read.data.data;
  return enabled && webhooks.length + email.length > 0;
}

interface RowProps {
  notice: Notice;
  /** somebody gets alerts */
  hasReceiver: boolean;
  onAcknowledge: () => void;
}

function Row({ notice, hasReceiver, onAcknowledge }: RowProps) {
  const operator = useMay('POST /notices/{id}/acknowledge');
  const { id, at, kind, endedAt, destination, name, delivery, alert, acknowledged } = notice;
  const isThere = destination !== null && !notice.destinationDeleted;
  return (
    <tr>
      <td>
        <When at={at} exact />
      </td>
      <td>
        {/* Trouble that is over has no colour. */}
        {endedAt === null || kind === 'recovered' ? (
          <Pill kind={kind} />
        ) : (
          <Pill kind="over">{stateInWords(kind)}</Pill>
        )}
      </td>
      <td>{isThere ? <NameLink to={placeOf(destination)} name={name} /> : <bdi>{name}</bdi>}</td>
      <td className="break">
        <Count notice={notice} />
        <Facts notice={notice} />
      </td>
      <td>
        {delivery === null ? (
          <WithoutDelivery alert={alert} hasReceiver={hasReceiver} />
        ) : (
          <TextLink to={`/deliveries/${encodeURIComponent(delivery)}`}>
            {words.alertStates[alert]}
          </TextLink>
        )}
      </td>
      <td>
        {acknowledged ? (
          <>
            <When at={acknowledged.at} />, {acknowledged.by.name}
          </>
        ) : (
          operator && (
            <Button
              size="compact-sm"
              variant="default"
              aria-label={words.acknowledgeNamed(stateInWords(kind), name, id)}
              onClick={onAcknowledge}
            >
              {words.acknowledge}
            </Button>
          )
        )}
      </td>
    </tr>
  );
}

/** The alert of a notice, if it has no delivery. Where nobody gets alerts, none will follow. */
function WithoutDelivery({
  alert,
  hasReceiver,
}: Pick<RowProps, 'hasReceiver'> & Pick<Notice, 'alert'>) {
  if (hasReceiver || alert === 'sent') return words.alertStates[alert];
  return <TextLink to="/alerts">{words.noReceiver}</TextLink>;
}

/** What an open notice counts now, with a link to it, and what a person can do about it. */
function Count({ notice: { kind, count, deliveries } }: { notice: Notice }) {
  const replays = useMay('POST /replays');
  if (count === null) return null;
  if (deliveries === null) return kind === 'profile_full' ? words.fullProfiles(count) + '. ' : null;
  const { destination, status } = deliveries;
  return (
    <>
      <TextLink to={listOf(destination, {}, status)}>{words.counts[status](count)}</TextLink>
      {'. '}
      {kind === 'dead_letters' && replays && (
        <>
          <TextLink to={`/replays?destination=${encodeURIComponent(destination)}`}>
            {words.replay}
          </TextLink>
          {'. '}
        </>
      )}
    </>
  );
}

function Facts({ notice }: { notice: Notice }) {
  const { endedAt, expiresAt, kind, failures, error, followedBy, destinationDeleted } = notice;
  const isCounted = kind === 'dead_letters' || kind === 'partly_delivered';
  const isLasting = (LASTING_KINDS as readonly string[]).includes(kind);
  return (
    <>
      {noticeInWords(notice, Date.now())}{' '}
      {expiresAt !== null && <>{words.expires(<When at={expiresAt} />)}</>}
      {kind === 'failing' && endedAt !== null && <>{words.resolvedAt(<When at={endedAt} />)}</>}
      {kind === 'failing' && endedAt === null && `${words.failedAttempts(failures)}. `}
      {followedBy !== null && words.followed}
      {isLasting && endedAt !== null && <>{words.overSince(<When at={endedAt} />)}</>}
      {isCounted && endedAt !== null && followedBy === null && !destinationDeleted && (
        <>{words.noneLeft(<When at={endedAt} />)}</>
      )}
      {endedAt !== null && destinationDeleted && words.destinationDeleted}
      {error !== null && <span className="quiet">{error}</span>}
    </>
  );
}
