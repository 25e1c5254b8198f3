import { Alert, Button, Group, NativeSelect, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { type Operations, type Token } from '../../../shared/api/operations';
import { useChange, useRead } from '../lib/api';
import { type Role, useMay } from '../lib/session';
import { Pager, useFilters } from '../ui/filters';
import { Code } from '../ui/code';
import { AdminsOnly, Confirmed, Empty, Failure, Page, Table, TextLink, Unread, When } from '../ui/ui';

/** The tokens for the API and this console. */
export function Tokens() {
  const filters = useFilters();
  const admin = useMay('GET /tokens');
  const read = useRead('GET /tokens', { query: { ...filters.query(['after']), total: 'true' } }, { enabled: admin });
  const remove = useChange('DELETE /tokens/{id}');
  if (!admin) return <AdminsOnly title="Tokens" />;
  return (
    <Page title="Tokens">
      <NewToken />
      {remove.error && <Failure error={remove.error} what="delete it" />}
      {!read.data || read.error ? (
        <Unread read={read} what="tokens" />
      ) : read.data.data.data.length === 0 ? (
        <Empty title="No tokens yet (besides the admin token)" />
      ) : (
        <Table label="Tokens" head={['Name', 'Role', 'Rights', 'Created', 'Last used', 'Expires', 'Changes', 'End']}>
          {read.data.data.data.map((token) => (
            <Row key={token.id} token={token} onDelete={() => remove.mutate({ id: token.id })} />
          ))}
        </Table>
      )}
      <Pager filters={filters} page={read.data?.data} />
    </Page>
  );
}

function Row({ token, onDelete }: { token: Token; onDelete: () => void }) {
  const { id, name, role, version, createdAt, rights, expiresAt, lastUsedAt } = token;
  return (
    <tr>
      <td>{name}</td>
      <td>
        {/* Another token at this position in the list needs its own choice. */}
        <RoleChoice key={version} token={{ id, name, role, version }} />
      </td>
      <td>{rights === null ? 'all rights of the role' : rights.join(', ')}</td>
      <td>
        <When at={createdAt} />
      </td>
      <td>
        <When at={lastUsedAt} />
      </td>
      <td>{expiresAt === null ? 'never' : <When at={expiresAt} />}</td>
      <td>
        <TextLink to={`/audit?by=${id}`} aria-label={`see what ${name} has changed`}>
          see
        </TextLink>
      </td>
      <td>
        <Confirmed danger label="Delete" question={`Delete ${name}?`} onConfirm={onDelete}>
          <Text>It stops working, and its sessions end.</Text>
        </Confirmed>
      </td>
    </tr>
  );
}

/**
 * Changes the role of a token, also for its open sessions. It does not overwrite a change that somebody else made
 * first.
 */
function RoleChoice({
  token: { id, name, role, version },
}: {
  token: Pick<Token, 'id' | 'name' | 'role' | 'version'>;
}) {
  const [chosen, setChosen] = useState<Role>(role);
  const change = useChange('PATCH /tokens/{id}');
  return (
    <Stack gap="xs">
      <NativeSelect
        aria-label={`Role of ${name}`}
        data={ROLES}
        value={chosen}
        onChange={(event) => setChosen(event.target.value as Role)}
      />
      {chosen !== role && (
        <Group gap="xs">
          <Button
            size="xs"
            loading={change.isPending}
            onClick={() => change.mutate({ id, ifMatch: `"${version}"`, body: { role: chosen } })}
          >
            Change the role
          </Button>
          <Button size="xs" variant="default" onClick={() => setChosen(role)}>
            Cancel
          </Button>
        </Group>
      )}
      {change.error && <Failure error={change.error} what="change the role" />}
    </Stack>
  );
}

const ROLES: { value: Role; label: string }[] = [
  { value: 'read_only', label: 'read-only: view' },
  { value: 'operator', label: 'operator: operations, no secrets' },
  { value: 'admin', label: 'admin: everything' },
];

/** Sends the rights unchecked: the server names unknown ones. */
function limitsOf(expires: string, rights: string): Pick<Operations['POST /tokens']['body'], 'expiresAt' | 'rights'> {
  const list = rights.split(/[\s,]+/).filter((right) => right !== '');
  return {
    ...(expires !== '' && { expiresAt: `${expires}T23:59:59Z` }),
    ...(list.length > 0 && { rights: list as NonNullable<Token['rights']> }),
  };
}

function NewToken() {
  const [name, setName] = useState('');
  const [role, setRole] = useState<Role>('read_only');
  const [expires, setExpires] = useState('');
  const [rights, setRights] = useState('');
  const clear = () => {
    setName('');
    setRole('read_only');
    setExpires('');
    setRights('');
  };
  const make = useChange('POST /tokens', { onDone: clear });
  const made = make.data?.data;
  return (
    <form
      className="card"
      aria-label="New token"
      onSubmit={(event) => {
        event.preventDefault();
        make.mutate({ body: { name: name.trim(), role, ...limitsOf(expires, rights) } });
      }}
    >
      <Stack>
        <Group align="flex-end">
          <TextInput label="Token name" value={name} onChange={(event) => setName(event.target.value)} />
          <NativeSelect
            label="Role"
            data={ROLES}
            value={role}
            onChange={(event) => setRole(event.target.value as Role)}
          />
          <TextInput
            label="Expires"
            description="At the end of this day, UTC"
            type="date"
            value={expires}
            onChange={(event) => setExpires(event.target.value)}
          />
          <TextInput
            label="Rights"
            description="Such as events:read, deliveries:read. Leave empty for all rights of the role"
            value={rights}
            onChange={(event) => setRights(event.target.value)}
          />
          <Button type="submit" loading={make.isPending} disabled={name.trim() === ''}>
            Create token
          </Button>
        </Group>
        {make.error && <Failure error={make.error} what="create the token" />}
        {made && <ShownOnce {...made} onDone={() => make.reset()} />}
      </Stack>
    </form>
  );
}

function ShownOnce({ name, token, onDone }: { name: string; token: string; onDone: () => void }) {
  return (
    <Alert color="yellow" title={`The token of ${name}, shown only once`}>
      <Code label="new token" text={token} />
      <Button variant="default" onClick={onDone}>
        Done, I copied it
      </Button>
    </Alert>
  );
}
