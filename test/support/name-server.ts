import { createSocket, type RemoteInfo } from 'node:dgram';

/**
 * A name server for tests (RFC 1035, one question a packet) that knows few names and can leave
 * queries unanswered.
 */

/**
 * IPv4 addresses, separated by commas, `missing` (NXDOMAIN), `failing` (SERVFAIL) or `silent` (no
 * response).
 */
export type Lookup = (string & {}) | 'missing' | 'failing' | 'silent';

export interface NameServer {
  /** address and port, as `WAYPOST_DNS_SERVERS` takes it */
  address: string;
  /** the names of all queries, in order */
  asked: string[];
  /** Changes the answer for a name. */
  answer(name: string, lookup: Lookup): void;
  close(): Promise<void>;
}

const HEADER_BYTES = 12;
const ANSWER_AND_RECURSION = 0x8180;
const SERVFAIL = 2;
const NXDOMAIN = 3;
const TYPE_A = 1;

/**
 * @param names known names; all others are missing
 * @param ttlS of all answers, seconds
 */
export async function startNameServer(
  names: Record<string, Lookup>,
  ttlS = 60,
): Promise<NameServer> {
  const socket = createSocket('udp4');
  const asked: string[] = [];
  const answers = new Map(Object.entries(names));
  socket.on('message', (query: Buffer, from: RemoteInfo) => {
    const { name, type, end } = questionOf(query);
    asked.push(name);
    const answer = answers.get(name) ?? 'missing';
    if (answer !== 'silent') {
      socket.send(
        answered(query.subarray(0, end), { answer, type, ttlS }),
        from.port,
        from.address,
      );
    }
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${String(socket.address().port)}`,
    asked,
    answer: (name, lookup) => void answers.set(name, lookup),
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
function answered(
  question: Buffer,
  { answer, type, ttlS }: { answer: Lookup; type: number; ttlS: number },
): Buffer {
  const head = Buffer.from(question);
  const code = answer === 'missing' ? NXDOMAIN : answer === 'failing' ? SERVFAIL : 0;
  const addresses = code === 0 && type === TYPE_A ? answer.split(',') : [];
  head.writeUInt16BE(ANSWER_AND_RECURSION + code, 2);
  head.writeUInt16BE(addresses.length, 6);
  // No authority or additional records, though the query may contain some (EDNS).
  head.writeUInt32BE(0, 8);
  return Buffer.concat([head, ...addresses.map((address) => recordOf(address, ttlS))]);
}

function recordOf(address: string, ttlS: number): Buffer {
  const record = Buffer.alloc(16);
  // A pointer to the name of the question, which follows the header.
  record.writeUInt16BE(0xc000 + HEADER_BYTES, 0);
  record.writeUInt16BE(TYPE_A, 2);
  record.writeUInt16BE(1, 4);
  record.writeUInt32BE(ttlS, 6);
  record.writeUInt16BE(4, 10);
  Buffer.from(address.split('.').map(Number)).copy(record, 12);
  return record;
}
