import { Button, Group, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useNavigate } from 'react-router';
import { useChange, useRead } from '../lib/api';
import { useMay } from '../lib/session';
import { useTelling } from '../lib/sources';
import { Pager, useFilters } from '../ui/filters';
import { Empty, Failure, Page, Pill, Table, TextLink, Unread, When } from '../ui/ui';

/** All sources, and a new one. */
export function Sources() {
  const filters = useFilters();
  const admin = useMay('POST /sources');
  const telling = useTelling();
  const read = useRead('GET /sources', { query: { ...filters.query(['after']), total: 'true' } });
  return (
    <Page title="Sources">
      {admin && <NewSource />}
      {!read.data || read.error ? (
        <Unread read={read} what="sources" />
      ) : read.data.data.data.length === 0 ? (
        <Empty title="No sources yet">
          <Text>A source is where calls come from: a site, an app, a server.</Text>
        </Empty>
      ) : (
        <Table label="Sources" head={['Name', 'State', 'Created']}>
          {read.data.data.data.map(({ id, name, enabled, createdAt }) => (
            <tr key={id}>
              <td>
                <TextLink to={`/sources/${id}`}>{name}</TextLink>
                {telling.has(id) && ' (from an audience or trait)'}
              </td>
              <td>
                <Pill kind={enabled ? 'on' : 'off'} />
              </td>
              <td>
                <When at={createdAt} />
              </td>
            </tr>
          ))}
        </Table>
      )}
      <Pager filters={filters} page={read.data?.data} />
    </Page>
  );
}

function NewSource() {
  const [name, setName] = useState('');
  const navigate = useNavigate();
  const make = useChange('POST /sources', { onDone: ({ data }) => void navigate(`/sources/${data.id}`) });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        make.mutate({ body: { name: name.trim() } });
      }}
    >
      <Group align="flex-end">
        <TextInput label="New source name" value={name} onChange={(event) => setName(event.target.value)} />
        <Button type="submit" loading={make.isPending} disabled={name.trim() === ''}>
          Create source
        </Button>
      </Group>
      {make.error && <Failure error={make.error} what="create the source" />}
    </form>
  );
}
