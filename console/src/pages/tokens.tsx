import { Alert, Button, Group, NativeSelect, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useChange, useRead } from '../lib/api';
import { type Role, useMay } from '../lib/session';
import { Pager, useFilters } from '../ui/filters';
import { Code, Confirmed, Empty, Failure, Page, Pill, Table, Unread, When } from '../ui/ui';

/** Who may use the API and this console. */
export function Tokens() {
  const filters = useFilters();
  const admin = useMay('admin');
  const read = useRead('GET /tokens', { query: filters.query(['after']) }, { enabled: admin });
  const remove = useChange('DELETE /tokens/{id}');
  if (!admin) {
    return (
      <Page title="Tokens">
        <Empty title="This needs the role admin" />
      </Page>
    );
  }
  return (
    <Page title="Tokens">
      <NewToken />
      {remove.error && <Failure error={remove.error} what="deleting it" />}
      {!read.data || read.error ? (
        <Unread read={read} what="tokens" />
      ) : read.data.data.data.length === 0 ? (
        <Empty title="No token but that of the settings" />
      ) : (
        <Table label="Tokens" head={['Name', 'Role', 'Made', 'End']}>
          {read.data.data.data.map(({ id, name, role, createdAt }) => (
            <tr key={id}>
              <td>{name}</td>
              <td>
                <Pill kind={role} />
              </td>
              <td>
                <When at={createdAt} />
              </td>
              <td>
                <Confirmed danger label="Delete" question={`Delete ${name}?`} onConfirm={() => remove.mutate({ id })}>
                  <Text>It opens nothing more, and its sessions end.</Text>
                </Confirmed>
              </td>
            </tr>
          ))}
        </Table>
      )}
      <Pager filters={filters} next={read.data?.data.next ?? null} />
    </Page>
  );
}

const ROLES: { value: Role; label: string }[] = [
  { value: 'read_only', label: 'read-only: looks' },
  { value: 'operator', label: 'operator: runs everything, sees no secrets' },
  { value: 'admin', label: 'admin: everything' },
];

function NewToken() {
  const [name, setName] = useState('');
  const [role, setRole] = useState<Role>('read_only');
  const make = useChange('POST /tokens', { onDone: () => setName('') });
  const made = make.data?.data;
  return (
    <form
      className="card"
      aria-label="New token"
      onSubmit={(event) => {
        event.preventDefault();
        make.mutate({ body: { name: name.trim(), role } });
      }}
    >
      <Stack>
        <Group align="flex-end">
          <TextInput label="Whose or what for" value={name} onChange={(event) => setName(event.target.value)} />
          <NativeSelect
            label="Role"
            data={ROLES}
            value={role}
            onChange={(event) => setRole(event.target.value as Role)}
          />
          <Button type="submit" loading={make.isPending} disabled={name.trim() === ''}>
            Make a token
          </Button>
        </Group>
        {make.error && <Failure error={make.error} what="the new token" />}
        {made && (
          <Alert color="yellow" title={`The token of ${made.name}, shown this once`}>
            <Code label="new token" text={made.token} />
            <Button
              variant="default"
              onClick={() => {
                make.reset();
              }}
            >
              I have it
            </Button>
          </Alert>
        )}
      </Stack>
    </form>
  );
}
