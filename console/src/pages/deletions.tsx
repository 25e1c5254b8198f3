import { Alert, Button, Stack, Text, Textarea } from '@mantine/core';
import { useState } from 'react';
import { defined } from '../../../shared/collections/defined';
import { useChange, useNames, useRead } from '../lib/api';
import { useMay } from '../lib/session';
import { count } from '../lib/labels';
import { MOST_NAMED, namesInShort } from '../lib/names';
import { Pager, useFilters } from '../ui/filters';
import { AdminsOnly, Confirmed, Empty, Failure, Listed, number, Page, Table, When } from '../ui/ui';
import { text } from '../texts';

const words = text.administration.deletions;

/** Deletions of users: the past ones, and a new one. */
export function Deletions() {
  const filters = useFilters();
  const [isNew, setNew] = useState(false);
  const may = { read: useMay('GET /deletions'), write: useMay('POST /deletions') };
  const read = useRead(
    'GET /deletions',
    { query: filters.query(['after']) },
    { enabled: may.read },
  );
  const shown = read.data?.data.data.flatMap(({ affected }) => affected.slice(0, MOST_NAMED));
  const names = useNames('sources', shown ?? []);
  if (!may.read) return <AdminsOnly title={words.deletions} />;
  return (
    <Page
      title={words.deletions}
      actions={
        may.write &&
        !isNew && (
          <Button variant="default" onClick={() => setNew(true)}>
            {words.deleteUsers}
          </Button>
        )
      }
    >
      {isNew && <NewDeletion />}
      <Listed read={read} what={words.list} empty={<Empty title={words.noDeletions} />}>
        {(past) => (
          <Table
            label={words.deletions}
            head={[
              words.when,
              number(words.users),
              number(words.visitors),
              words.ids,
              words.sources,
              number(words.messages),
            ]}
          >
            {past.map((deletion) => (
              <tr key={deletion.id}>
                <td>
                  <When at={deletion.at} />
                </td>
                <td className="number">{count(deletion.users)}</td>
                <td className="number">{count(deletion.visitors)}</td>
                <td className="break">
                  {[...deletion.userIds, ...deletion.anonymousIds].join(', ')}
                  {deletion.users + deletion.visitors >
                    deletion.userIds.length + deletion.anonymousIds.length && ' …'}
                </td>
                <td>{namesInShort(deletion.affected, names) || words.none}</td>
                <td className="number">{count(deletion.messages)}</td>
              </tr>
            ))}
          </Table>
        )}
      </Listed>
      <Pager filters={filters} page={read.data?.data} />
    </Page>
  );
}

function linesOf(text: string): string[] {
  return [...new Set(text.split('\n').map((line) => line.trim()))].filter((id) => id !== '');
}

function NewDeletion() {
  const [text, setText] = useState({ users: '', visitors: '' });
  const [userIds, anonymousIds] = [linesOf(text.users), linesOf(text.visitors)];
  const total = userIds.length + anonymousIds.length;
  const remove = useChange('POST /deletions', {
    onDone: () => setText({ users: '', visitors: '' }),
  });
  const done = remove.data?.data;
  return (
    <section className="card" aria-label={words.deleteUsers}>
      <Stack>
        <Textarea
          label={words.userIds}
          description={words.userIdsHint}
          rows={4}
          value={text.users}
          onChange={(event) => setText({ ...text, users: event.target.value })}
        />
        <Textarea
          label={words.anonymousIds}
          description={words.anonymousIdsHint}
          rows={2}
          value={text.visitors}
          onChange={(event) => setText({ ...text, visitors: event.target.value })}
        />
        {total === 0 ? (
          <Button className="start" disabled>
            {words.delete}
          </Button>
        ) : (
          <Confirmed
            danger
            label={words.deleteCounted(count(total))}
            question={words.question}
            busy={remove.isPending}
            onConfirm={() =>
              remove.mutate({
                body: defined({
                  userIds: userIds.length > 0 ? userIds : undefined,
                  anonymousIds: anonymousIds.length > 0 ? anonymousIds : undefined,
                }),
              })
            }
          >
            <Text>{words.hint}</Text>
          </Confirmed>
        )}
        {remove.error && <Failure error={remove.error} what={words.deleteTask} />}
        {done && (
          <Alert color="green" role="status">
            {words.sent(count(done.messages))}
          </Alert>
        )}
      </Stack>
    </section>
  );
}
