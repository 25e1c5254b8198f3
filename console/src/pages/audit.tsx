import { Checkbox } from '@mantine/core';
import { AUDIT_KINDS } from '../../../shared/api/operation';
import { type Audit as Response } from '../../../shared/api/operations';
import { useRead } from '../lib/api';
import { useMay } from '../lib/session';
import { placeOf, roleInWords, codeInWords } from '../lib/labels';
import {
  ChoiceFilter,
  FilterBar,
  type Filters,
  Pager,
  SelectFilter,
  TextFilter,
  TimeFilter,
  useFilters,
} from '../ui/filters';
import { json } from '../ui/code';
import { AdminsOnly, Empty, NameLink, Page, Pill, Table, Unread, When } from '../ui/ui';
import { text } from '../texts';

const words = text.administration.audit;

const FILTERS = ['kind', 'entry', 'by', 'sessions', 'since', 'until', 'after'] as const;

/** The audit log. Secrets read *** before and after. */
export function Audit() {
  const filters = useFilters();
  const admin = useMay('GET /audit');
  // Otherwise the sessions of a busy day hide what changed.
  const withSessions = filters.get('sessions') === 'true' || filters.get('kind') === 'session';
  const query = {
    ...filters.query(FILTERS),
    sessions: withSessions ? ('true' as const) : ('false' as const),
    total: 'true' as const,
  };
  const read = useRead('GET /audit', { query }, { enabled: admin, keep: true });
  if (!admin) return <AdminsOnly title={words.audit} />;
  return (
    <Page title={words.audit}>
      <FilterBar filters={filters} label={words.filter}>
        <ChoiceFilter filters={filters} name="kind" label={words.kind} options={AUDIT_KINDS} />
        <ByFilter filters={filters} />
        <TextFilter
          key={filters.get('entry')}
          filters={filters}
          name="entry"
          label={words.entryId}
        />
        <TimeFilter filters={filters} name="since" label={words.from} />
        <TimeFilter filters={filters} name="until" label={words.before} />
        <Checkbox
          className="beside-field"
          label={words.withSessions}
          checked={withSessions}
          onChange={(event) => filters.set('sessions', event.target.checked ? 'true' : '')}
        />
      </FilterBar>
      {!read.data || read.error ? (
        <Unread read={read} what={words.theAudit} />
      ) : read.data.data.data.length === 0 ? (
        <Empty title={filters.any ? words.nothingMatches : words.noEntriesYet} />
      ) : (
        <ChangeTable changes={read.data.data.data} />
      )}
      <Pager filters={filters} page={read.data?.data} />
    </Page>
  );
}

/** The changes of one entry. */
export function Changes({ entry }: { entry: string }) {
  const filters = useFilters();
  const admin = useMay('GET /audit');
  const read = useRead(
    'GET /audit',
    { query: { ...filters.query(['after']), entry, total: 'true' } },
    { enabled: admin, keep: true },
  );
  if (!admin) return <Empty title={text.ui.ui.adminsOnly} />;
  if (!read.data || read.error) return <Unread read={read} what={words.theAudit} />;
  if (read.data.data.data.length === 0) return <Empty title={words.noEntriesYet} />;
  return (
    <>
      <ChangeTable changes={read.data.data.data} />
      <Pager filters={filters} page={read.data.data} />
    </>
  );
}

function ChangeTable({ changes }: { changes: readonly Change[] }) {
  return (
    <Table label={words.changes} head={[words.when, words.who, words.what, words.changes]}>
      {changes.map((change) => (
        <Row key={`${change.entry}-${change.version ?? change.at}`} change={change} />
      ))}
    </Table>
  );
}

/** Filters by author. An author whose token was deleted stays in an address that names it. */
function ByFilter({ filters }: { filters: Filters }) {
  const tokens = useRead('GET /tokens', { query: { limit: 200 } });
  const by = filters.get('by');
  const known = [
    { value: 'admin', label: words.settingsToken },
    ...(tokens.data?.data.data.map(({ id, name }) => ({ value: id, label: name })) ?? []),
  ];
  const isKnown = by === '' || known.some(({ value }) => value === by);
  const options = isKnown ? known : [...known, { value: by, label: by }];
  return <SelectFilter filters={filters} name="by" label={words.who} options={options} />;
}

type Change = Response['data'][number];

/** Returns the page that shows the entry now. */
function pageOf({ action, kind, entry }: Change): string | undefined {
  if (action === 'deleted') return undefined;
  if (kind === 'destination') return placeOf(entry);
  return kind === 'source' ? `/sources/${entry}` : undefined;
}

function Row({ change }: { change: Change }) {
  const place = pageOf(change);
  return (
    <tr>
      <td>
        <When at={change.at} />
      </td>
      <td>
        <bdi>{change.by.name}</bdi> ({roleInWords(change.by.role)})
      </td>
      <td>
        <Pill kind={change.action} /> {codeInWords(change.kind)}{' '}
        {place === undefined ? (
          <bdi>{change.name}</bdi>
        ) : (
          <NameLink to={place} name={change.name} />
        )}
      </td>
      <td className="break">
        <Differences of={change.changes} />
      </td>
    </tr>
  );
}

/** A row has room for these. */
const MOST_SHOWN = 3;

/** What changed; of many fields only their names, until somebody unfolds them. */
function Differences({ of: changes }: { of: Change['changes'] }) {
  if (changes.length === 0) return null;
  const list = (
    <ul className="plain">
      {changes.map(({ field, from, to }) => (
        <li key={field} className="break">
          {field}: {json(from)} → {json(to)}
        </li>
      ))}
    </ul>
  );
  if (changes.length <= MOST_SHOWN) return list;
  return (
    <details>
      <summary>{changes.map(({ field }) => field).join(', ')}</summary>
      {list}
    </details>
  );
}
