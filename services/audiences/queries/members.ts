import {
  type Member,
  type MembersResult,
  type MembersQuery,
} from '../../../shared/model/profile-records';
import { type Profile } from '../profiles/profile';

/** Lists the members of one partition, as receivers know them: pure. */

/** The store that the members are read from. */
export interface MemberReader {
  get(user: string): Profile | undefined;
  /** ids after `after`, in order */
  members(definition: string, after: string | undefined, limit: number): string[];
}

/** Returns one page of members. It never reads more than the page. */
export function membersOf(
  store: MemberReader,
  { definition, limit, user }: Pick<MembersQuery, 'definition' | 'limit' | 'user'>,
  after: string | undefined,
): Pick<MembersResult, 'members' | 'end'> {
  const users = user === undefined ? store.members(definition, after, limit) : [user];
  const members = users.flatMap((userId): Member | [] => {
    const profile = store.get(userId);
    const [value, since] = (!profile?.absent && profile?.sentValues?.[definition]) || [null, 0];
    return value === null || value === false ? [] : { userId, value, since };
  });
  return { members, end: user !== undefined || users.length < limit };
}
