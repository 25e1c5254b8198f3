import { Text } from '@mantine/core';
import { type Members as Response } from '../../../shared/api/operations';
import { compact } from '../../../shared/collections/defined';
import { useRead } from '../lib/api';
import { FilterBar, type Filters, Pager, TextFilter } from '../ui/filters';
import { Section, Table, Unread, When } from '../ui/ui';
import { type Kind } from './history';
import { valueInWords } from './labels';
import { text } from '../texts';

const words = text.audience.members;

/** The members in pages, or whether one user is a member. */
export function Members({ kind, id, filters }: { kind: Kind; id: string; filters: Filters }) {
  const query = { limit: 50, ...filters.query(['after', 'user']) };
  const read = useRead(`GET /${kind}/{id}/members`, { id, query }, { keep: true });
  const found = read.data?.data;
  const user = filters.get('user');
  const isValue = kind === 'computed-traits';
  return (
    <Section title={isValue ? words.values : words.members}>
      <FilterBar filters={filters} label={words.findUser}>
        <TextFilter filters={filters} name="user" label={words.userId} isExact />
      </FilterBar>
      <div role="status" className="below">
        {found && !read.error && <Text size="sm">{said(found, user)}</Text>}
      </div>
      {!found || read.error ? (
        <Unread read={read} what={isValue ? words.theValues : words.theMembers} />
      ) : (
        found.data.length > 0 && (
          <Table
            label={isValue ? words.usersWithValue : words.usersInAudience}
            head={compact([words.user, isValue ? words.value : undefined, words.since])}
          >
            {found.data.map(({ userId, value, since }) => (
              <tr key={userId}>
                <td className="break">{userId}</td>
                {isValue && <td className="break">{valueInWords(value)}</td>}
                <td>
                  <When at={since} />
                </td>
              </tr>
            ))}
          </Table>
        )
      )}
      <Pager filters={filters} page={found} />
    </Section>
  );
}

function said({ data, next }: Response, user: string): string {
  if (user !== '') return data.length === 0 ? words.isNoMember(user) : words.isMember(user);
  if (data.length > 0) return '';
  return next === null ? words.noMembers : words.noMembersSoFar;
}
