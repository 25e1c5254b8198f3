import { Alert, Button, Group, NativeSelect, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { type Operations, type Token } from '../../../shared/api/operations';
import { defined } from '../../../shared/collections/defined';
import { useChange, useRead } from '../lib/api';
import { isoOfLocal } from '../lib/labels';
import { type Role, useMay } from '../lib/session';
import { Pager, useFilters } from '../ui/filters';
import { Code } from '../ui/code';
import {
  AdminsOnly,
  Confirmed,
  Empty,
  Failure,
  Listed,
  Page,
  Table,
  TextLink,
  When,
} from '../ui/ui';
import { text } from '../texts';

const words = text.administration.tokens;

/** The tokens for the API and this console. */
export function Tokens() {
  const filters = useFilters();
  const admin = useMay('GET /tokens');
  const read = useRead(
    'GET /tokens',
    { query: { ...filters.query(['after']), total: 'true' } },
    { enabled: admin },
  );
  const remove = useChange('DELETE /tokens/{id}');
  const [isNew, setNew] = useState(false);
  if (!admin) return <AdminsOnly title={words.tokens} />;
  return (
    <Page
      title={words.tokens}
      actions={!isNew && <Button onClick={() => setNew(true)}>{words.newToken}</Button>}
    >
      {isNew && <NewToken />}
      {remove.error && <Failure error={remove.error} what={words.deleteTask} />}
      <Listed read={read} what={words.list} empty={<Empty title={words.noTokens} />}>
        {(tokens) => (
          <Table
            label={words.tokens}
            head={[
              words.name,
              words.role,
              words.rights,
              words.created,
              words.lastUsed,
              words.expires,
              words.changes,
              words.end,
            ]}
          >
            {tokens.map((token) => (
              <Row key={token.id} token={token} onDelete={() => remove.mutate({ id: token.id })} />
            ))}
          </Table>
        )}
      </Listed>
      <Pager filters={filters} page={read.data?.data} />
    </Page>
  );
}

function Row({ token, onDelete }: { token: Token; onDelete: () => void }) {
  const { id, name, role, version, createdAt, rights, expiresAt, lastUsedAt } = token;
  return (
    <tr>
      <td className="break">
        <bdi>{name}</bdi>
      </td>
      <td>
        {/* Another token at this position in the list needs its own choice. */}
        <RoleChoice key={version} token={{ id, name, role, version }} />
      </td>
      <td>{rights === null ? words.allRights : rights.join(', ')}</td>
      <td>
        <When at={createdAt} />
      </td>
      <td>
        <When at={lastUsedAt} />
      </td>
      <td>{expiresAt === null ? words.never : <When at={expiresAt} />}</td>
      <td>
        <TextLink to={`/audit?by=${id}`} aria-label={words.seeChanges(name)}>
          {words.see}
        </TextLink>
      </td>
      <td>
        <Confirmed
          danger
          size="xs"
          label={words.delete}
          question={words.deleteQuestion(name)}
          onConfirm={onDelete}
        >
          <Text>{words.deleteHint}</Text>
        </Confirmed>
      </td>
    </tr>
  );
}

/**
 * Changes the role of a token, also for its open sessions. It does not overwrite a change that
 * somebody else made first.
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
        size="xs"
        aria-label={words.roleOf(name)}
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
            {words.changeRole}
          </Button>
          <Button size="xs" variant="default" onClick={() => setChosen(role)}>
            {words.cancel}
          </Button>
        </Group>
      )}
      {change.error && <Failure error={change.error} what={words.changeRoleTask} />}
    </Stack>
  );
}

const ROLES: { value: Role; label: string }[] = [
  { value: 'read_only', label: words.readOnly },
  { value: 'operator', label: words.operator },
  { value: 'admin', label: words.admin },
];

/** Sends the rights unchecked: the server names unknown ones. */
function limitsOf(
  expires: string,
  rights: string,
): Pick<Operations['POST /tokens']['body'], 'expiresAt' | 'rights'> {
  const list = rights.split(/[\s,]+/).filter((right) => right !== '');
  return defined({
    expiresAt: isoOfLocal(expires === '' ? '' : `${expires}T23:59:59`),
    rights: list.length > 0 ? (list as NonNullable<Token['rights']>) : undefined,
  });
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
      aria-label={words.newToken}
      onSubmit={(event) => {
        event.preventDefault();
        make.mutate({ body: { name: name.trim(), role, ...limitsOf(expires, rights) } });
      }}
    >
      <Stack>
        <Group align="flex-end">
          <TextInput
            label={words.tokenName}
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
          <NativeSelect
            label={words.role}
            data={ROLES}
            value={role}
            onChange={(event) => setRole(event.target.value as Role)}
          />
          <TextInput
            label={words.expires}
            description={words.expiresHint}
            type="date"
            value={expires}
            onChange={(event) => setExpires(event.target.value)}
          />
          <TextInput
            label={words.rights}
            description={words.rightsHint}
            value={rights}
            onChange={(event) => setRights(event.target.value)}
          />
          <Button type="submit" loading={make.isPending} disabled={name.trim() === ''}>
            {words.createToken}
          </Button>
        </Group>
        {make.error && <Failure error={make.error} what={words.createTask} />}
        {made && <ShownOnce {...made} onDone={() => make.reset()} />}
      </Stack>
    </form>
  );
}

function ShownOnce({ name, token, onDone }: { name: string; token: string; onDone: () => void }) {
  return (
    <Alert color="yellow" title={words.shownOnce(name)}>
      <Code label={words.newTokenCode} text={token} />
      <Button variant="default" onClick={onDone}>
        {words.done}
      </Button>
    </Alert>
  );
}
