import { parseHeader } from '../headers';
import { usage } from '../process-context';

/**
 * Parses a captured request: the head as in HTTP (with or without its first line), an empty line,
 * and the exact body. Bytes beyond Content-Length are not part of the body: editors add a line
 * break.
 */
export interface CapturedRequest {
  headers: Record<string, string>;
  body: Buffer;
  /** bytes after the end that Content-Length names */
  leftOver: number;
}

/** @throws CliError for any other text */
export function parseRequest(bytes: Buffer): CapturedRequest {
  const { head, body } = split(bytes);
  const headers: Record<string, string> = {};
  for (const [i, line] of head.split(/\r?\n/).entries()) {
    if (line === '') continue;
    const header = parseHeader(line);
    if (header) headers[header.name.toLowerCase()] = header.value;
    // The request line `POST /hook HTTP/1.1` is not signed.
    else if (i > 0 || !/^[A-Z]+ \S+/.test(line)) {
      throw usage(
        `Line ${String(i + 1)} of the request is not a header. It must be "Name: value".`,
      );
    }
  }
  const length = /^\d{1,9}$/.test(headers['content-length'] ?? '')
    ? Number(headers['content-length'])
    : body.length;
  if (length > body.length) {
    throw usage(
      `The body is truncated: Content-Length is ${String(length)} bytes, but the body has ` +
        `${String(body.length)}.`,
    );
  }
  return { headers, body: body.subarray(0, length), leftOver: body.length - length };
}

function split(bytes: Buffer): { head: string; body: Buffer } {
  for (const gap of ['\r\n\r\n', '\n\n']) {
    const at = bytes.indexOf(gap);
    if (at >= 0) {
      return {
        head: bytes.subarray(0, at).toString('latin1'),
        body: bytes.subarray(at + gap.length),
      };
    }
  }
  throw usage('There must be an empty line between the headers and the body of the request.');
}
