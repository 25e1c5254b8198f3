import { type Audience, type Upload } from '../../../shared/model/audience-definition';
import { type ListedEvent, MAX_USER_BYTES, PROFILE_EVENT_FORMAT } from '../../../shared/model/profile-records';
import { Problem } from '../http/problem';
import { type BatchProducer, type Kafka, type OutRecord } from '../../../shared/kafka/port';
import { PROFILE_EVENTS } from '../../../shared/kafka/topics';

/**
 * Members from elsewhere: lines are written to their users' partitions as they come, and count when the audience's entry in
 * `config` names them. Until then nothing has changed, however the upload ends.
 */

/** A line is little more than an id. */
const MAX_LINE_LENGTH = 4_096;
const CHUNK = 1_000;
/** Each is read anew by who starts meanwhile. */
const MAX_UNTAKEN = 100;

/** One line: who, and in or out. */
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
  const fields = typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  const [user, listed] = full
    ? [typeof value === 'string' ? value : fields.userId, true]
    : [fields.add ?? fields.remove, fields.add !== undefined];
  if (typeof user !== 'string' || user === '') throw wrong(wanted);
  if (Buffer.byteLength(user) > MAX_USER_BYTES) throw wrong(`has a user id of more than ${MAX_USER_BYTES} bytes`);
  return { user, listed };
}

/** The lines of a body, as it comes. @throws Problem `too_large` for a line without end */
async function* linesOf(body: AsyncIterable<Buffer>): AsyncGenerator<{ text: string; number: number }> {
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
    if (rest.length > MAX_LINE_LENGTH) throw new Problem('too_large', `Line ${number + 1} is too long`);
  }
  if (rest.trim() !== '') yield { text: rest, number: number + 1 };
}

export interface Uploading {
  kafka: Pick<Kafka, 'ranges'>;
  producer: Pick<BatchProducer, 'send'>;
  audience: string;
  /** higher than any before */
  number: number;
  full: boolean;
}

/** Writes all lines. @returns what makes them count, and how many there were */
export async function upload(
  { kafka, producer, audience, number, full }: Uploading,
  body: AsyncIterable<Buffer>,
): Promise<{ upload: Upload; lines: number }> {
  const from = await ends(kafka);
  let lines = 0;
  let chunk: OutRecord[] = [];
  for await (const { text, number: at } of linesOf(body)) {
    const { user, listed } = readLine(text, at, full);
    const event: ListedEvent = { kind: 'listed', audience, upload: number, listed };
    const headers = { format: PROFILE_EVENT_FORMAT };
    chunk.push({ topic: PROFILE_EVENTS, key: user, value: JSON.stringify(event), headers });
    lines++;
    if (chunk.length < CHUNK) continue;
    // The next lines are read when these are safe: that is all there is in memory.
    await producer.send(chunk);
    chunk = [];
  }
  await producer.send(chunk);
  const to = await ends(kafka);
  return { upload: { number, full, lines, ranges: to.map((end, i) => [from[i] ?? 0, end]) }, lines };
}

/** The audience with an upload that counts from now on. @param taken up to which all partitions have them */
export function withUpload(audience: Audience, added: Upload, taken: number): Audience {
  const open = (audience.uploads ?? []).filter(({ number }) => number > taken);
  if (open.length >= MAX_UNTAKEN) {
    throw new Problem('conflict', `${open.length} uploads are still being applied. Try again later`);
  }
  return { ...audience, uploads: [...open, added] };
}

async function ends(kafka: Pick<Kafka, 'ranges'>): Promise<number[]> {
  const ranges = await kafka.ranges(PROFILE_EVENTS);
  return [...ranges].sort((a, b) => a.partition - b.partition).map(({ high }) => high);
}
