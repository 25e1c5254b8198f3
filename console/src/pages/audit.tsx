import { AUDIT_KINDS } from '../../../shared/api/operation';
import { type Audit as Response } from '../../../shared/api/operations';
import { useRead } from '../lib/api';
import { useMay } from '../lib/session';
import { placeOf } from '../lib/labels';
import { ChoiceFilter, FilterBar, type Filters, Pager, SelectFilter, TextFilter, useFilters } from '../ui/filters';
import { json } from '../ui/code';
import { AdminsOnly, Empty, Page, Pill, Table, TextLink, Unread, When } from '../ui/ui';

const FILTERS = ['kind', 'entry', 'by', 'after'] as const;

/** The audit log. Secrets read *** before and after. */
export function Audit() {
  const filters = useFilters();
  const admin = useMay('GET /audit');
  const read = useRead(
    'GET /audit',
    { query: { ...filters.query(FILTERS), total: 'true' } },
    { enabled: admin, keep: true },
  );
  if (!admin) return <AdminsOnly title="Audit" />;
  return (
    <Page title="Audit">
      <FilterBar filters={filters} label="Filter">
        <ChoiceFilter filters={filters} name="kind" label="Kind" options={AUDIT_KINDS} />
        <ByFilter filters={filters} />
        <TextFilter key={filters.get('entry')} filters={filters} name="entry" label="Id of the entry" />
      </FilterBar>
      {!read.data || read.error ? (
        <Unread read={read} what="the audit trail" />
      ) : read.data.data.data.length === 0 ? (
        <Empty title={filters.any ? 'Nothing matches' : 'No entries yet'} />
      ) : (
        <Table label="Changes" head={['When', 'Who', 'What', 'Changes']}>
          {read.data.data.data.map((change) => (
            <Row key={`${change.entry}-${change.version ?? change.at}`} change={change} />
          ))}
        </Table>
      )}
      <Pager filters={filters} page={read.data?.data} />
    </Page>
  );
}

/** Filters by author. An author whose token was deleted stays in an address that names it. */
function ByFilter({ filters }: { filters: Filters }) {
  const tokens = useRead('GET /tokens', { query: { limit: 200 } });
  const by = filters.get('by');
  const known = [
    { value: 'admin', label: 'the admin token in the settings' },
    ...(tokens.data?.data.data.map(({ id, name }) => ({ value: id, label: name })) ?? []),
  ];
  const isKnown = by === '' || known.some(({ value }) => value === by);
  const options = isKnown ? known : [...known, { value: by, label: by }];
  return <SelectFilter filters={filters} name="by" label="Who" options={options} />;
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
        {change.by.name} ({change.by.role.replace('_', '-')})
      </td>
      <td>
        <Pill kind={change.action} /> {change.kind}{' '}
        {place === undefined ? change.name : <TextLink to={place}>{change.name}</TextLink>}
      </td>
      <td>
        {change.changes.length > 0 && (
          <details>
            <summary>{change.changes.map(({ field }) => field).join(', ')}</summary>
            <ul className="plain">
              {change.changes.map(({ field, from, to }) => (
                <li key={field} className="break">
                  {field}: {json(from)} → {json(to)}
                </li>
              ))}
            </ul>
          </details>
        )}
      </td>
    </tr>
  );
}
