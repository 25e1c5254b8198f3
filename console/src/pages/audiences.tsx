import { Text } from '@mantine/core';
import { type ReactNode } from 'react';
import { NavLink } from 'react-router';
import { type Audience, type ComputedTrait } from '../../../shared/api/operations';
import { Phase } from '../audience/status';
import { COMPUTE_WORDS } from '../audience/labels';
import { useNames, useRead } from '../lib/api';
import { useMay } from '../lib/session';
import { count } from '../lib/labels';
import { Pager, useFilters } from '../ui/filters';
import { Empty, LinkButton, Page, Table, TextLink, Unread, When } from '../ui/ui';

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
  return (
    <Lists make={{ to: '/audiences/new', label: 'Build an audience' }} any={(found?.data.length ?? 0) > 0}>
      {!found || read.error ? (
        <Unread read={read} what="audiences" />
      ) : found.data.length === 0 ? (
        <NoAudience />
      ) : (
        <Table label="Audiences" head={['Name', 'Trait', 'Users', 'State', 'Last sync', 'Destinations']}>
          {found.data.map((audience) => (
            <Line key={audience.id} of={audience} to={`/audiences/${audience.id}`} />
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
    <Empty title="No audiences yet">
      <Text>
        An audience is a set of users, such as those who ordered three times within 30 days. Waypost computes it from
        the calls of your sources and sends an identify call to your destinations whenever a user joins or leaves.
      </Text>
      {admin && <LinkButton to="/audiences/new">Build your first audience</LinkButton>}
      {admin && <TextLink to="/audiences/new?by=list">Or upload a list from elsewhere</TextLink>}
    </Empty>
  );
}

export function ComputedTraits() {
  const filters = useFilters();
  const query = filters.query(['after']);
  const read = useRead('GET /computed-traits', { query }, { every: LOOK_AGAIN_MS, keep: true });
  const found = read.data?.data;
  return (
    <Lists make={{ to: '/audiences/traits/new', label: 'Compute a trait' }} any={(found?.data.length ?? 0) > 0}>
      {!found || read.error ? (
        <Unread read={read} what="computed traits" />
      ) : found.data.length === 0 ? (
        <NoTrait />
      ) : (
        <Table label="Computed traits" head={['Name', 'Trait', 'Users', 'State', 'Last sync', 'Destinations', 'Value']}>
          {found.data.map((trait) => (
            <Line key={trait.id} of={trait} to={`/audiences/traits/${trait.id}`}>
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
    <Empty title="No computed traits yet">
      <Text>
        A computed trait is a value for each user, such as what they have spent within 30 days. Waypost sends an
        identify call to your destinations whenever it changes.
      </Text>
      {admin && <LinkButton to="/audiences/traits/new">Compute your first trait</LinkButton>}
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
    <Page title="Audiences" actions={actions}>
      <nav aria-label="Audiences" className="tabs">
        <NavLink to="/audiences" end>
          Audiences
        </NavLink>
        <NavLink to="/audiences/traits">Computed traits</NavLink>
      </nav>
      {children}
    </Page>
  );
}

function Line({ of, to, children }: { of: Audience | ComputedTrait; to: string; children?: ReactNode }) {
  const names = useNames('destinations');
  const { name, key, status, destinations } = of;
  return (
    <tr>
      <td>
        <TextLink to={to}>{name}</TextLink>
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
      <td>{destinations.map((id) => names.get(id) ?? id).join(', ') || 'none'}</td>
      {children}
    </tr>
  );
}
