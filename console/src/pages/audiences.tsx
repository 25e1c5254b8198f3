import { Text } from '@mantine/core';
import { type ReactNode } from 'react';
import { type Audience, type ComputedTrait } from '../../../shared/api/operations';
import { Phase } from '../audience/status';
import { COMPUTE_WORDS } from '../audience/labels';
import { useNames, useRead } from '../lib/api';
import { useMay } from '../lib/session';
import { count } from '../lib/labels';
import { MOST_NAMED, namesInShort } from '../lib/names';
import { Pager, useFilters } from '../ui/filters';
import { Tabs } from '../ui/tabs';
import { Empty, LinkButton, Listed, NameLink, number, Page, Table, TextLink, When } from '../ui/ui';
import { text } from '../texts';

const words = text.setup.audiences;

/** All audiences and all computed traits, in two lists. */

const LOOK_AGAIN_MS = 5_000;

const HEAD = [
  words.name,
  { text: words.trait, className: 'w-18p' },
  { ...number(words.users), className: 'c-count' },
  { text: words.state, className: 'w-9' },
  { text: words.lastSync, className: 'w-7' },
  { text: words.destinations, className: 'w-18p' },
];

export function Audiences() {
  const filters = useFilters();
  const read = useRead(
    'GET /audiences',
    { query: { ...filters.query(['after']), total: 'true' } },
    { every: LOOK_AGAIN_MS, keep: true },
  );
  const found = read.data?.data;
  const names = useShownNames(found?.data ?? []);
  return (
    <Lists
      make={{ to: '/audiences/new', label: words.buildAudience }}
      any={(found?.data.length ?? 0) > 0}
    >
      <Listed read={read} what={words.list} empty={<NoAudience />}>
        {(audiences) => (
          <Table label={words.title} className="dense audiences" leads head={HEAD}>
            {audiences.map((audience) => (
              <Line
                key={audience.id}
                of={audience}
                to={`/audiences/${audience.id}`}
                names={names}
              />
            ))}
          </Table>
        )}
      </Listed>
      <Pager filters={filters} page={found} />
    </Lists>
  );
}

function NoAudience() {
  const admin = useMay('POST /audiences');
  return (
    <Empty title={words.noAudiences}>
      <Text>{words.audiencesHint}</Text>
      {admin && (
        <LinkButton primary to="/audiences/new">
          {words.buildFirst}
        </LinkButton>
      )}
      {admin && <TextLink to="/audiences/new?by=list">{words.uploadList}</TextLink>}
    </Empty>
  );
}

export function ComputedTraits() {
  const filters = useFilters();
  const query = filters.query(['after']);
  const read = useRead('GET /computed-traits', { query }, { every: LOOK_AGAIN_MS, keep: true });
  const found = read.data?.data;
  const names = useShownNames(found?.data ?? []);
  return (
    <Lists
      make={{ to: '/audiences/traits/new', label: words.computeTrait }}
      any={(found?.data.length ?? 0) > 0}
    >
      <Listed read={read} what={words.traitList} empty={<NoTrait />}>
        {(traits) => (
          <Table
            label={words.computedTraits}
            className="dense audiences"
            leads
            head={[...HEAD, { text: words.value, className: 'w-18p' }]}
          >
            {traits.map((trait) => (
              <Line key={trait.id} of={trait} to={`/audiences/traits/${trait.id}`} names={names}>
                <td title={trait.event}>
                  {COMPUTE_WORDS[trait.compute]}: {trait.event}
                </td>
              </Line>
            ))}
          </Table>
        )}
      </Listed>
      <Pager filters={filters} page={found} />
    </Lists>
  );
}

function NoTrait() {
  const admin = useMay('POST /computed-traits');
  return (
    <Empty title={words.noTraits}>
      <Text>{words.traitsHint}</Text>
      {admin && (
        <LinkButton primary to="/audiences/traits/new">
          {words.computeFirst}
        </LinkButton>
      )}
    </Empty>
  );
}

const TABS = [
  { to: '/audiences', name: words.title },
  { to: '/audiences/traits', name: words.computedTraits },
];

interface ListsProps {
  make: { to: string; label: string };
  /** if there are none, the empty list itself links to the first */
  any: boolean;
  children: ReactNode;
}

function Lists({ make, any, children }: ListsProps) {
  const admin = useMay('POST /audiences');
  const actions =
    admin && any ? (
      <LinkButton primary to={make.to}>
        {make.label}
      </LinkButton>
    ) : undefined;
  return (
    <Page title={words.title} actions={actions}>
      <Tabs label={words.title} tabs={TABS} />
      {children}
    </Page>
  );
}

/** Returns the names of the destinations that the rows show. */
function useShownNames(rows: readonly Pick<Audience, 'destinations'>[]) {
  return useNames(
    'destinations',
    rows.flatMap(({ destinations }) => destinations.slice(0, MOST_NAMED)),
  );
}

interface LineProps {
  of: Audience | ComputedTrait;
  to: string;
  names: ReadonlyMap<string, string>;
  children?: ReactNode;
}

function Line({ of, to, names, children }: LineProps) {
  const { name, key, status, destinations } = of;
  const shown = namesInShort(destinations, names) || words.none;
  return (
    <tr data-row={to}>
      <td>
        <NameLink to={to} name={name} />
      </td>
      <td title={key}>
        <code>{key}</code>
      </td>
      <td className="number">{count(status.members)}</td>
      <td>
        <Phase of={status} />
      </td>
      <td>
        <When at={status.lastSync?.at ?? null} />
      </td>
      <td title={shown}>{shown}</td>
      {children}
    </tr>
  );
}
