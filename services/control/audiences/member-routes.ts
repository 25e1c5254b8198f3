import { type Request } from 'express';
import { Problem } from '../http/problem';
import { decodeAnyCursor, encodeCursor } from '../http/paging';
import { type ControlContext } from '../context';
import { type At } from '../config/config-entries';
import { upload, withUpload } from './upload';
import { type HandlersOf } from '../http/mount';
import { type Place } from './member-pages';
import { type Member } from '../../../shared/model/profile-records';
import { type Query } from '../../../shared/api/operations';

type Upload = 'PUT /audiences/{id}/members' | 'PATCH /audiences/{id}/members';
type Kind = 'audience' | 'computed_trait';

/** Uploads members. The body may be of any length, and is read as a stream. */
export function uploadHandlers(deps: ControlContext): Pick<HandlersOf<'audiences'>, Upload> {
  const { entries, kafka, producer, profiles, now, log } = deps;
  /** audiences with an upload in progress: a second upload would mix with it */
  const busy = new Set<string>();
  return {
    'PUT /audiences/{id}/members': (call) => take(true, call),
    'PATCH /audiences/{id}/members': (call) => take(false, call),
  };

  async function take(full: boolean, { id, by, req: body }: At & { req: Request }) {
    const { data } = entries.get('audience', id);
    if (data.condition !== undefined) {
      throw new Problem(
        'conflict',
        'The condition determines the members of this audience. Create an audience without a condition to upload members',
      );
    }
    if (busy.has(id))
      throw new Problem('conflict', 'An upload for this audience is in progress. Try again when it ends');
    busy.add(id);
    try {
      const number = Math.max(now().getTime(), (data.uploads?.at(-1)?.number ?? 0) + 1);
      const { upload: added, lines } = await upload({ kafka, producer, audience: id, number, full }, body);
      const taken = profiles.of(id, data.revision).upload;
      const at = { id, ifMatch: undefined, by };
      await entries.change('audience', at, (audience) => withUpload(audience, added, taken));
      log.info({ audience: id, full, lines }, 'members.uploaded');
      return { upload: number, lines };
    } finally {
      busy.delete(id);
    }
  }
}

interface ShowCall {
  id: string;
  query: Query<'GET /audiences/{id}/members'>;
}

/** Lists the members of a definition. */
export function showMembers({ entries, members, profiles }: ControlContext, kind: Kind) {
  return async ({ id, query: { limit, after, user } }: ShowCall) => {
    const { id: definition } = entries.get(kind, id).data;
    const view = ({ since, ...member }: Member) => ({ ...member, since: new Date(since).toISOString() });
    if (user !== undefined) {
      const found = await members.find(definition, user);
      return { data: found ? [view(found)] : [], next: null };
    }
    const asked = { definition, limit, from: placeOf(after), expected: profiles.membersOf(definition) };
    const page = await members.page(asked);
    return { data: page.members.map(view), next: page.next ? nextOf(page.next) : null };
  };
}

/** @throws Problem `invalid_fields` */
function placeOf(cursor: string | undefined): Place {
  const at = decodeAnyCursor(cursor);
  if (!at) return { partition: 0 };
  return at.id === FIRST ? { partition: at.at } : { partition: at.at, after: at.id.slice(BEHIND.length) };
}

function nextOf({ partition, after }: Place): string {
  return encodeCursor({ at: partition, id: after === undefined ? FIRST : BEHIND + after });
}

const FIRST = '-';
const BEHIND = '>';
