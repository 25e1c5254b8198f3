import { type Member, type MembersResult, type MembersQuery } from '../../../shared/model/profile-queries';
import { type Profile } from '../profiles/profile';

/** Who is in, of one partition, as receivers were told: pure. */

/** Where it is read. */
export interface MemberReader {
  get(user: string): Profile | undefined;
  /** in order of their ids, from behind `after` on */
  members(definition: string, after: string | undefined, limit: number): string[];
}

/** Never more work than the page that is asked for. */
export function membersOf(
  shelf: MemberReader,
  { definition, limit, user }: MembersQuery,
  after: string | undefined,
): Pick<MembersResult, 'members' | 'end'> {
  const users = user === undefined ? shelf.members(definition, after, limit) : [user];
  const members = users.flatMap((userId): Member | [] => {
    const profile = shelf.get(userId);
    const [value, since] = (!profile?.g && profile?.s?.[definition]) || [null, 0];
    return value === null || value === false ? [] : { userId, value, since };
  });
  return { members, end: user !== undefined || users.length < limit };
}
