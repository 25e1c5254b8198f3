import { Text } from '@mantine/core';
import { type ReactNode } from 'react';
import { NavLink } from 'react-router';
import { type Audience, type ComputedTrait } from '../../../shared/api/operations';
import { Phase } from '../audience/status';
import { COMPUTE_WORDS } from '../audience/labels';
import { useNames, useRead } from '../lib/api';
import { useMay } from '../lib/session';
import { count } from '../lib/labels';
import { MOST_NAMED, namesInShort } from '../lib/names';
import { Pager, useFilters } from '../ui/filters';
import { Empty, LinkButton, NameLink, Page, Table, TextLink, Unread, When } from '../ui/ui';
import { text } from '../texts';

const words = text.setup.audiences;

/** All audiences and all computed traits, in two lists. */

const LOOK_AGAIN_MS = 5_000;

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
      {!found || read.error ? (
        <Unread read={read} what={words.list} />
      ) : found.data.length === 0 ? (
        <NoAudience />
      ) : (
        <Table
          label={words.title}
          head={[
            words.name,
            words.trait,
            words.users,
            words.state,
            words.lastSync,
            words.destinations,
          ]}
        >
          {found.data.map((audience) => (
            <Line key={audience.id} of={audience} to={`/audiences/${audience.id}`} names={names} />
          ))}
        </Table>
      )}
      <Pager filters={filters} page={found} />
    </Lists>
  );
}

function NoAudience() {
  const admin = useMay('POST /audiences');
  return (
    <Empty title={words.noAudiences}>
      <Text>{words.audiencesHint}</Text>
      {admin && <LinkButton to="/audiences/new">{words.buildFirst}</LinkButton>}
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
      {!found || read.error ? (
        <Unread read={read} what={words.traitList} />
      ) : found.data.length === 0 ? (
        <NoTrait />
      ) : (
        <Table
          label={words.computedTraits}
          head={[
            words.name,
            words.trait,
            words.users,
            words.state,
            words.lastSync,
            words.destinations,
            words.value,
          ]}
        >
          {found.data.map((trait) => (
            <Line key={trait.id} of={trait} to={`/audiences/traits/${trait.id}`} names={names}>
              <td>
                {COMPUTE_WORDS[trait.compute]}: {trait.event}
              </td>
            </Line>
          ))}
        </Table>
      )}
      <Pager filters={filters} page={found} />
    </Lists>
  );
}

function NoTrait() {
  const admin = useMay('POST /computed-traits');
  return (
    <Empty title={words.noTraits}>
      <Text>{words.traitsHint}</Text>
      {admin && <LinkButton to="/audiences/traits/new">{words.computeFirst}</LinkButton>}
    </Empty>
  );
}

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
      <nav aria-label={words.title} className="tabs">
        <NavLink to="/audiences" end>
          {words.title}
        </NavLink>
        <NavLink to="/audiences/traits">{words.computedTraits}</NavLink>
      </nav>
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
  return (
    <tr>
      <td>
        <NameLink to={to} name={name} />
      </td>
      <td className="break">
        <code>{key}</code>
      </td>
      <td>{count(status.members)}</td>
      <td>
        <Phase of={status} />
      </td>
      <td>
        <When at={status.lastSync?.at ?? null} />
      </td>
      <td>{namesInShort(destinations, names) || words.none}</td>
      {children}
    </tr>
  );
}
