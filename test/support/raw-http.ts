import { connect } from 'node:net';

/**
 * Sends raw bytes to a port and returns the response, for requests that no HTTP client would send.
 */

const DEADLINE_MS = 60_000;

/** Returns the text of a request. @param lines its head without the empty last line */
export function requestText(lines: string[], body = ''): string {
  return `${[...lines, 'Connection: close'].join('\r\n')}\r\n\r\n${body}`;
}

export interface RawAnswer {
  status: number;
  /** lower-case names; the last value of a name that occurs twice */
  headers: Record<string, string>;
  body: string;
}

/**
 * Sends a request and reads until the server closes the connection. @throws Error without an HTTP
 * response in a minute
 */
export async function raw(url: string, text: string | Buffer): Promise<RawAnswer> {
  const { hostname, port } = new URL(url);
  const answer = await new Promise<string>((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect(Number(port), hostname, () => socket.write(text));
    socket.setTimeout(DEADLINE_MS, () =>
      socket.destroy(new Error(`no end of the answer: ${String(Buffer.concat(chunks))}`)),
    );
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.on('error', (error: NodeJS.ErrnoException) => {
      // After its response the server may reset the connection in place of reading the rest.
      if (chunks.length === 0 || error.code !== 'ECONNRESET') reject(error);
    });
    socket.on('close', () => resolve(Buffer.concat(chunks).toString()));
  });
  const [head = '', ...rest] = answer.split('\r\n\r\n');
  const [first = '', ...lines] = head.split('\r\n');
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(first)?.[1]);
  if (!status) throw new Error(`this is no HTTP answer: ${answer.slice(0, 200)}`);
  const headers = lines.map((line) => [
    line.split(':', 1)[0]!.toLowerCase(),
    line.slice(line.indexOf(':') + 1).trim(),
  ]);
  return {
    status,
    headers: Object.fromEntries(headers) as Record<string, string>,
    body: rest.join('\r\n\r\n'),
  };
}
