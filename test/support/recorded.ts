import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { ROOT } from '../../shared/runtime/repo-root';

/**
 * A request of a real client. test/libraries/recorded.test.ts updates test/clients/recorded.json.
 */
export interface RecordedRequest {
  client: string;
  method: string;
  path: string;
  /** without the headers of the connection */
  headers: Record<string, string>;
  /** decompressed; the header `content-encoding` says whether it was sent with gzip */
  body: object;
}

export const RECORDED_KEY = 'recorded-write-key-0123456789';

/** The clients of servers, and those of browsers. */
const FILES = {
  servers: join(ROOT, 'test/clients/recorded.json'),
  browsers: join(ROOT, 'test/clients/recorded-browsers.json'),
};
type Kind = keyof typeof FILES;

export function recordedRequests(...kinds: Kind[]): RecordedRequest[] {
  const wanted: Kind[] = kinds.length > 0 ? kinds : ['servers', 'browsers'];
  return wanted.flatMap(
    (kind) => JSON.parse(readFileSync(FILES[kind], 'utf8')) as RecordedRequest[],
  );
}

export function writeRecorded(kind: Kind, requests: readonly RecordedRequest[]): void {
  writeFileSync(FILES[kind], `${JSON.stringify(requests, undefined, 2)}\n`);
}

/** Headers that differ with each connection or with the length of the body. */
const LEFT_OUT = new Set(['host', 'content-length', 'connection', 'transfer-encoding']);

export function asRecorded(
  client: string,
  request: {
    method: string;
    path: string;
    headers: Readonly<Record<string, string | undefined>>;
    body: Buffer;
  },
): RecordedRequest {
  const { method, path, headers, body } = request;
  const kept = Object.entries(headers).flatMap(([name, value = '']) =>
    LEFT_OUT.has(name) ? [] : [[name, value]],
  );
  const text = headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body;
  return {
    client,
    method,
    path,
    headers: Object.fromEntries(kept),
    body: JSON.parse(text.toString()) as object,
  };
}

/** Returns the names that occur in requests: a slow machine divides calls into other batches. */
export function namesIn(
  requests: readonly RecordedRequest[],
  of: (request: RecordedRequest) => string[],
): string[] {
  return [...new Set(requests.flatMap(of))].sort();
}
