import { Group, Stack, Text } from '@mantine/core';
import { type Lookup as Response } from '../../../shared/api/operations';
import { useNames, useRead } from '../lib/api';
import { whyNotInWords } from '../lib/labels';
import { FilterBar, Pager, TextFilter, useFilters } from '../ui/filters';
import { Empty, Page, Pill, Table, TextLink, Unread, When } from '../ui/ui';
import { text } from '../texts';

const words = text.watch.lookup;

const WITHIN = { name: text.watch.deliveries.deliveries, to: '/deliveries' };

type Row = Response['data'][number];

/** What became of accepted messages, also of those that no destination got. */
export function Lookup() {
  const filters = useFilters();
  const message = filters.get('message');
  const user = filters.get('user');
  const query = filters.query(message === '' ? ['user', 'after'] : ['message', 'after']);
  const read = useRead('GET /lookup', { query }, { enabled: message !== '' || user !== '' });
  return (
    <Page title={words.title} within={WITHIN}>
      <Text size="sm">{words.hint}</Text>
      <FilterBar filters={filters} label={words.search}>
        <TextFilter filters={filters} name="message" label={words.messageId} isExact />
        {message === '' && (
          <TextFilter filters={filters} name="user" label={words.userId} isExact />
        )}
      </FilterBar>
      {message === '' && user === '' ? (
        <Empty title={words.nothingAsked} />
      ) : read.data && !read.error ? (
        <Found {...read.data.data} asked={message} />
      ) : (
        <Unread read={read} what={words.messages} />
      )}
      <Pager filters={filters} page={read.data?.data} />
    </Page>
  );
}

/** @param props.asked the message id that somebody asked for; empty: they asked for a user */
function Found({ data, searched, asked }: Response & { asked: string }) {
  const sources = useNames(
    'sources',
    data.map(({ source }) => source),
  );
  const destinations = useNames(
    'destinations',
    data.flatMap((row) => row.destinations.map(({ id }) => id)),
  );
  const covered = (
    <Text size="sm" role="status">
      {words.searched(<When at={searched.from} exact />, <When at={searched.to} exact />)}
      {searched.complete ? words.nothingOlder : words.olderRemain}
    </Text>
  );
  if (data.length === 0) {
    const none = asked === '' ? words.notInKafka : words.noSuchMessage;
    return (
      <Empty title={searched.complete ? none : words.notFoundYet}>
        {covered}
        {asked !== '' && (
          <TextLink to={`/deliveries?${new URLSearchParams({ q: asked }).toString()}`}>
            {words.otherValues(asked)}
          </TextLink>
        )}
      </Empty>
    );
  }
  return (
    <>
      {covered}
      <Table
        label={words.messages}
        head={[words.message, words.accepted, words.source, words.becameOfIt]}
      >
        {data.map((row) => (
          <tr key={`${row.source} ${row.message} ${row.acceptedAt}`}>
            <td className="break">
              <TextLink to={`/deliveries?message=${encodeURIComponent(row.message)}`}>
                {row.message}
              </TextLink>
            </td>
            <td>
              <When at={row.acceptedAt} exact />
            </td>
            <td>{sources.get(row.source) ?? row.source}</td>
            <td>
              <Outcomes of={row} names={destinations} />
            </td>
          </tr>
        ))}
      </Table>
    </>
  );
}

function Outcomes({ of, names }: { of: Row; names: ReadonlyMap<string, string> }) {
  if (of.destinations.length === 0) return words.noDestination;
  return (
    <Stack gap="xs">
      {of.destinations.map(({ id, delivery, outcome, reason }) => (
        <Group key={id} gap="xs">
          <Pill kind={delivery?.status ?? outcome} />
          <Text size="sm">
            {names.get(id) ?? id}
            {reason !== null && `: ${whyNotInWords(reason)}`}
            {outcome === 'unknown' && reason === null && `: ${words.unknown}`}
          </Text>
        </Group>
      ))}
    </Stack>
  );
}
