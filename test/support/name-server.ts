import { createSocket, type RemoteInfo } from 'node:dgram';

/**
 * A name server for tests (RFC 1035, one question a packet) that knows few names and can leave
 * queries unanswered.
 */

/** An IPv4 address, `missing` (NXDOMAIN), `failing` (SERVFAIL) or `silent` (no response). */
export type Lookup = (string & {}) | 'missing' | 'failing' | 'silent';

export interface NameServer {
  /** address and port, as `WAYPOST_DNS_SERVERS` takes it */
  address: string;
  /** the names of all queries, in order */
  asked: string[];
  close(): Promise<void>;
}

const HEADER_BYTES = 12;
const ANSWER_AND_RECURSION = 0x8180;
const SERVFAIL = 2;
const NXDOMAIN = 3;
const TYPE_A = 1;
const TTL_S = 60;

/** @param names known names; all others are missing */
export async function startNameServer(names: Record<string, Lookup>): Promise<NameServer> {
  const socket = createSocket('udp4');
  const asked: string[] = [];
  socket.on('message', (query: Buffer, from: RemoteInfo) => {
    const { name, type, end } = questionOf(query);
    asked.push(name);
    const answer = names[name] ?? 'missing';
    if (answer !== 'silent') {
      socket.send(answered(query.subarray(0, end), answer, type), from.port, from.address);
    }
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${String(socket.address().port)}`,
    asked,
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  };
}

function questionOf(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = HEADER_BYTES;
  for (let length = query[at]!; length > 0; length = query[at]!) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 };
}

/** Encodes a response. @param question the query up to the end of its question */
function answered(question: Buffer, answer: Lookup, type: number): Buffer {
  const head = Buffer.from(question);
  const code = answer === 'missing' ? NXDOMAIN : answer === 'failing' ? SERVFAIL : 0;
  const records = code === 0 && type === TYPE_A ? 1 : 0;
  head.writeUInt16BE(ANSWER_AND_RECURSION + code, 2);
  head.writeUInt16BE(records, 6);
  // No authority or additional records, though the query may contain some (EDNS).
  head.writeUInt32BE(0, 8);
  if (records === 0) return head;
  const record = Buffer.alloc(16);
  // A pointer to the name of the question, which follows the header.
  record.writeUInt16BE(0xc000 + HEADER_BYTES, 0);
  record.writeUInt16BE(TYPE_A, 2);
  record.writeUInt16BE(1, 4);
  record.writeUInt32BE(TTL_S, 6);
  record.writeUInt16BE(4, 10);
  Buffer.from(answer.split('.').map(Number)).copy(record, 12);
  return Buffer.concat([head, record]);
}
