import { Problem } from '../http/problem';
import { decodeAnyCursor, encodeCursor } from '../http/paging';
import { isoTime } from '../../../shared/model/time';
import { type Log } from '../../../shared/telemetry/log';
import { type MemberPages } from './member-pages';
import { type ProfileStatus } from './status';
import { type At, type ConfigEntries, newId } from '../config/config-entries';
import { type Call, type HandlersOf } from '../http/handlers';
import { type MemberPosition } from './member-pages';
import {
  ACCEPTED_AT_HEADER,
  type Member,
  type ListedEvent,
  MAX_USER_BYTES,
  type UploadedEvent,
} from '../../../shared/model/profile-records';
import { isUser } from '../../../shared/model/profile-user';
import { messageOf } from '../../../shared/runtime/errors';
import { FORMAT_HEADER } from '../../../shared/model/record-format';
import { type Query } from '../../../shared/api/operations';
import { type BatchProducer, type Kafka, type OutRecord } from '../../../shared/kafka/port';
import { endsOf } from '../../../shared/kafka/scan';
import { PROFILE_EVENTS } from '../../../shared/kafka/topics';
import { type DefinitionKind } from './model';

/**
 * Uploads members. Lines are written to their users' partitions as they arrive, and count once the
 * end of the upload is behind them. An upload that fails before that changes nothing. The entry of
 * the audience numbers the ends, so that all partitions apply uploads that overlap in the same
 * order. An upload that fails while its ends are written may count in some partitions: its number
 * is known before, so that the audience is not live until the upload was repeated.
 */

/** A line contains little more than an id. */
const MAX_LINE_LENGTH = 4_096;
const CHUNK = 1_000;

/** A user id, and whether it is a member. */
interface Line {
  user: string;
  listed: boolean;
}

/** @throws Problem `invalid_fields` that names the line */
function readLine(text: string, number: number, full: boolean): Line {
  const wrong = (detail: string) =>
    new Problem('invalid_fields', `Line ${number} ${detail}; nothing was changed`, {
      errors: [{ pointer: `#/${number - 1}`, detail }],
    });
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw wrong('is not JSON');
  }
  const wanted = full
    ? 'must be "<user id>" or {"userId":"<user id>"}'
    : 'must be {"add":"<user id>"} or {"remove":"<user id>"}';
  const fields =
    typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  const [user, listed] = full
    ? [typeof value === 'string' ? value : fields.userId, true]
    : [fields.add ?? fields.remove, fields.add !== undefined];
  if (typeof user !== 'string' || user === '') throw wrong(wanted);
  if (!isUser(user)) {
    throw wrong(
      `has a user id of more than ${MAX_USER_BYTES} bytes, or with half of a surrogate pair`,
    );
  }
  return { user, listed };
}

/**
 * Yields the lines of a body as they arrive. @throws Problem `too_large` for a line that is too
 * long
 */
async function* linesOf(
  body: AsyncIterable<Buffer>,
): AsyncGenerator<{ text: string; number: number }> {
  const decoder = new TextDecoder();
  let rest = '';
  let number = 0;
  for await (const chunk of body) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      number++;
      if (line.trim() !== '') yield { text: line, number };
    }
    if (rest.length > MAX_LINE_LENGTH) {
      throw new Problem('too_large', `Line ${number + 1} is too long`);
    }
  }
  if (rest.trim() !== '') yield { text: rest, number: number + 1 };
}

interface Uploading {
  kafka: Pick<Kafka, 'ranges'>;
  producer: Pick<BatchProducer, 'send'>;
  audience: string;
  id: string;
  full: boolean;
  /** when it began, ms since 1970 */
  acceptedAt: number;
}

/** Writes all lines. @returns their number, and the end of each partition before them */
async function writeLines(
  { kafka, producer, audience, id, full, acceptedAt }: Uploading,
  body: AsyncIterable<Buffer>,
): Promise<{ lines: number; starts: number[] }> {
  const starts = await endsOf(kafka, PROFILE_EVENTS);
  // A deletion during the upload removes the line of its user.
  const headers = { format: FORMAT_HEADER, [ACCEPTED_AT_HEADER]: String(acceptedAt) };
  let lines = 0;
  let chunk: OutRecord[] = [];
  for await (const { text, number: at } of linesOf(body)) {
    const { user, listed } = readLine(text, at, full);
    const event: ListedEvent = { kind: 'listed', audience, upload: id, listed };
    chunk.push({ topic: PROFILE_EVENTS, key: user, value: JSON.stringify(event), headers });
    lines++;
    if (chunk.length < CHUNK) continue;
    // Bounds memory: the next lines are read after Kafka has acknowledged these.
    await producer.send(chunk);
    chunk = [];
  }
  await producer.send(chunk);
  return { lines, starts };
}

/**
 * Writes the ends, which make the lines count.
 * @throws Problem `unavailable` if they may be written to a part of the partitions
 */
async function writeEnds(
  { producer, audience, id, full }: Uploading,
  number: number,
  starts: readonly number[],
): Promise<void> {
  const ends = starts.map((from, partition): OutRecord => {
    const event: UploadedEvent = { kind: 'uploaded', audience, upload: id, number, full, from };
    const value = JSON.stringify(event);
    const headers = { format: FORMAT_HEADER };
    return { topic: PROFILE_EVENTS, key: audience, value, headers, partition };
  });
  await producer.send(ends).catch((error: unknown) => {
    throw new Problem(
      'unavailable',
      `${messageOf(error)}. A part of the upload may be applied: upload the same again`,
    );
  });
}

type UploadOperation = 'PUT /audiences/{id}/members' | 'PATCH /audiences/{id}/members';

export interface UploadDeps {
  entries: ConfigEntries;
  kafka: Pick<Kafka, 'ranges'>;
  producer: Pick<BatchProducer, 'send'>;
  now: () => Date;
  log: Log;
}

/** Uploads members. The body may be of any length, and is read as a stream. */
export function uploadHandlers(deps: UploadDeps): Pick<HandlersOf<'audiences'>, UploadOperation> {
  const { entries, kafka, producer, now, log } = deps;
  return {
    'PUT /audiences/{id}/members': (call) => take(true, call),
    'PATCH /audiences/{id}/members': (call) => take(false, call),
  };

  async function take(
    full: boolean,
    { id, by, req: body, stillAllowed }: At & Pick<Call, 'req' | 'stillAllowed'>,
  ) {
    requireNoCondition(entries.get('audience', id).data);
    const begunAt = now();
    const uploading: Uploading = {
      kafka,
      producer,
      audience: id,
      id: newId('upl', begunAt),
      full,
      acceptedAt: begunAt.getTime(),
    };
    const { lines, starts } = await writeLines(uploading, body);
    // It may have taken hours.
    if (!stillAllowed()) {
      throw new Problem('unauthorized', 'Your token or session has ended during the upload');
    }
    let number = 0;
    await entries.change('audience', { id, ifMatch: undefined, by }, (audience) => {
      requireNoCondition(audience);
      number = Math.max(now().getTime(), (audience.upload?.number ?? 0) + 1);
      return { ...audience, upload: { number, full, lines } };
    });
    await writeEnds(uploading, number, starts);
    log.info({ audience: id, full, lines }, 'members.uploaded');
    return { upload: number, lines };
  }
}

/** @throws Problem `conflict` */
function requireNoCondition({ condition }: { condition?: string | undefined }): void {
  if (condition === undefined) return;
  throw new Problem(
    'conflict',
    'The condition determines the members of this audience. Create an audience without ' +
      'a condition to upload members',
  );
}

interface ShowCall {
  id: string;
  query: Query<'GET /audiences/{id}/members'>;
}

export interface MemberDeps {
  entries: ConfigEntries;
  members: Pick<MemberPages, 'page' | 'find'>;
  profiles: Pick<ProfileStatus, 'membersOf'>;
}

export function showMembers({ entries, members, profiles }: MemberDeps, kind: DefinitionKind) {
  return async ({ id, query: { limit, after, user } }: ShowCall) => {
    const { id: definition } = entries.get(kind, id).data;
    const view = ({ since, ...member }: Member) => ({
      ...member,
      since: isoTime(since),
    });
    if (user !== undefined) {
      const found = await members.find(definition, user);
      return { data: found ? [view(found)] : [], next: null };
    }
    const asked = {
      definition,
      limit,
      from: positionOf(after),
      expected: profiles.membersOf(definition),
    };
    const page = await members.page(asked);
    return { data: page.members.map(view), next: page.next ? nextOf(page.next) : null };
  };
}

/** @throws Problem `invalid_fields` */
function positionOf(cursor: string | undefined): MemberPosition {
  const at = decodeAnyCursor(cursor);
  if (!at) return { partition: 0 };
  return at.id === FIRST
    ? { partition: at.at }
    : { partition: at.at, after: at.id.slice(BEHIND.length) };
}

function nextOf({ partition, after }: MemberPosition): string {
  return encodeCursor({ at: partition, id: after === undefined ? FIRST : BEHIND + after });
}

const FIRST = '-';
const BEHIND = '>';
