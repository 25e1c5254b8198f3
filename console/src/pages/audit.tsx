import { NativeSelect } from '@mantine/core';
import { compact, defined } from '../../../shared/collections/defined';
import { AUDIT_KINDS } from '../../../shared/api/operation';
import { type Audit as Response } from '../../../shared/api/operations';
import { ALERTS_ID } from '../../../shared/model/config';
import {
  ALERT_LABELS,
  AUDIENCE_LABELS,
  DESTINATION_LABELS,
  fieldInWords,
  type FieldNames,
  hidesSecret,
  TRAIT_LABELS,
} from '../destination/conflict';
import { useNamed } from '../destination/save';
import { useRead } from '../lib/api';
import { useMay } from '../lib/session';
import { timeOf } from '../lib/times';
import { placeOf, roleInWords, stateInWords } from '../lib/labels';
import {
  FilterBar,
  type Filters,
  Pager,
  SelectFilter,
  TextFilter,
  useFilters,
} from '../ui/filters';
import { TimeFilter } from '../ui/time-filter';
import { AdminsOnly, Empty, Listed, NameLink, Page, Pill, Table, When } from '../ui/ui';
import { text } from '../texts';

const words = text.administration.audit;

const FILTERS = ['kind', 'entry', 'by', 'sessions', 'after'] as const;

/** The audit log. Secrets read *** before and after. */
export function Audit() {
  const filters = useFilters();
  const admin = useMay('GET /audit');
  const time = (name: 'since' | 'until') =>
    filters.get(name) === '' ? undefined : timeOf(filters.get(name), Date.now());
  const query = {
    ...filters.query(FILTERS),
    ...defined({ since: time('since'), until: time('until') }),
    // Otherwise the sessions of a busy day hide what changed.
    sessions: kindOf(filters) === '' ? ('false' as const) : ('true' as const),
    total: 'true' as const,
  };
  const read = useRead('GET /audit', { query }, { enabled: admin, keep: true });
  if (!admin) return <AdminsOnly title={words.audit} />;
  return (
    <Page title={words.audit}>
      <FilterBar filters={filters} label={words.filter}>
        <KindFilter filters={filters} />
        <ByFilter filters={filters} />
        <TextFilter filters={filters} name="entry" label={words.entryId} />
        <TimeFilter filters={filters} of="changes" />
      </FilterBar>
      <Listed
        read={read}
        what={words.theAudit}
        empty={<Empty title={filters.any ? words.nothingMatches : words.noEntriesYet} />}
      >
        {(changes) => <ChangeTable changes={changes} />}
      </Listed>
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
  return (
    <>
      <Listed read={read} what={words.theAudit} empty={<Empty title={words.noEntriesYet} />}>
        {(changes) => <ChangeTable changes={changes} />}
      </Listed>
      <Pager filters={filters} page={read.data?.data} />
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

const EVERY_KIND = 'every';

/** Returns the chosen kind; empty: all but sessions. */
function kindOf(filters: Filters): string {
  const every = filters.get('sessions') === 'true' ? EVERY_KIND : '';
  return filters.get('kind') || every;
}

function KindFilter({ filters }: { filters: Filters }) {
  const choose = (value: string) =>
    filters.setAll(
      value === EVERY_KIND ? { kind: '', sessions: 'true' } : { kind: value, sessions: '' },
    );
  return (
    <NativeSelect
      label={words.kind}
      data={[
        { value: '', label: words.allButSessions },
        { value: EVERY_KIND, label: words.allWithSessions },
        ...AUDIT_KINDS.map((value) => ({ value, label: stateInWords(value) })),
      ]}
      value={kindOf(filters)}
      onChange={(event) => choose(event.target.value)}
    />
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
  if (kind === 'source') return `/sources/${entry}`;
  if (kind === 'audience') return `/audiences/${entry}`;
  return kind === 'computed_trait' ? `/audiences/traits/${entry}` : undefined;
}

/** Returns the labels of the entry's fields. */
function namesOf({ kind, entry }: Change): FieldNames {
  const isAlerts = kind === 'destination' && entry === ALERTS_ID;
  return { ...words.fields, ...LABELS[kind], ...(isAlerts ? ALERT_LABELS : {}) };
}

const LABELS: Readonly<Record<string, FieldNames>> = {
  destination: DESTINATION_LABELS,
  audience: AUDIENCE_LABELS,
  computed_trait: TRAIT_LABELS,
};

/** More of them would make a row a page. */
const FEW = 3;

function Row({ change }: { change: Change }) {
  const place = pageOf(change);
  const names = namesOf(change);
  const differences = change.changes.length > 0 && (
    <ul className="plain">
      {change.changes.map(({ field, from, to }) => (
        <Difference
          key={field}
          field={field}
          name={names[field] ?? field}
          from={change.action === 'created' ? undefined : fieldInWords(field, from)}
          to={change.action === 'deleted' ? undefined : fieldInWords(field, to)}
          hidden={hidesSecret([from, to])}
        />
      ))}
    </ul>
  );
  return (
    <tr>
      <td>
        <When at={change.at} exact />
      </td>
      <td>
        <bdi>{change.by.name}</bdi> ({roleInWords(change.by.role)})
      </td>
      <td>
        <div className="what">
          <Pill kind={change.action} /> <span>{stateInWords(change.kind)}</span>{' '}
          {place === undefined ? (
            <bdi>{change.name}</bdi>
          ) : (
            <NameLink to={place} name={change.name} />
          )}
        </div>
      </td>
      <td>
        {change.changes.length > FEW ? (
          <details>
            <summary>
              {change.action === 'changed'
                ? change.changes.map(({ field }) => names[field] ?? field).join(', ')
                : words.fieldsOf(change.changes.length)}
            </summary>
            {differences}
          </details>
        ) : (
          differences
        )}
      </td>
    </tr>
  );
}

interface DifferenceProps {
  field: string;
  name: string;
  /** undefined: there was no entry before, or is none after */
  from: string | undefined;
  to: string | undefined;
  /** one of the values contains a secret */
  hidden: boolean;
}

function Difference({ field, name, from, to, hidden }: DifferenceProps) {
  const values = compact([from, to]);
  const named = useNamed(field, values);
  // Of a secret the trail says no more.
  const isSecret = hidden && values.length === 2 && from === to;
  return (
    <li className="break">
      {name}: {isSecret ? words.changed : values.map(named).join(' → ')}
    </li>
  );
}
