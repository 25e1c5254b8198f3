import { type Audit as Answer } from '../../../shared/api/operations';
import { useRead } from '../lib/api';
import { ChoiceFilter, Pager, useFilters } from '../ui/filters';
import { Empty, json, Page, Pill, Table, Unread, When } from '../ui/ui';

/** Who changed what. Secrets read *** before and after. */
export function Audit() {
  const filters = useFilters();
  const read = useRead('GET /audit', { query: filters.query(['kind', 'entry', 'by', 'after']) });
  return (
    <Page title="Audit">
      <form className="filters" aria-label="Filter" onSubmit={(event) => event.preventDefault()}>
        <ChoiceFilter filters={filters} name="kind" label="Kind" options={['source', 'destination', 'token']} />
      </form>
      {!read.data || read.error ? (
        <Unread read={read} what="the audit trail" />
      ) : read.data.data.data.length === 0 ? (
        <Empty title="Nothing was changed yet" />
      ) : (
        <Table label="Changes" head={['When', 'Who', 'What', 'Changes']}>
          {read.data.data.data.map((change) => (
            <Row key={`${change.entry}-${change.version}`} change={change} />
          ))}
        </Table>
      )}
      <Pager filters={filters} next={read.data?.data.next ?? null} />
    </Page>
  );
}

function Row({ change }: { change: Answer['data'][number] }) {
  return (
    <tr>
      <td>
        <When at={change.at} />
      </td>
      <td>
        {change.by.name} ({change.by.role.replace('_', '-')})
      </td>
      <td>
        <Pill kind={change.action} /> {change.kind} {change.name}
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
