import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';
import { type EndpointResponse } from '../http/exchange';
import { headerOf } from '../http/judge-response';

/** Reads the response to a batch. Pure. */

/** Some receivers begin their JSON with it, and readers of JSON skip it. */
const BYTE_ORDER_MARK = /^\ufeff/;

const LEAST_STATUS = 100;
const MOST_STATUS = 599;

/** Of a body that is decompressed: a hundred failures with a sentence each fit many times. */
const MOST_DECOMPRESSED_BYTES = 256 * 1024;
const DECOMPRESS: Readonly<
  Record<string, (body: Buffer, options: { maxOutputLength: number }) => Buffer>
> = {
  gzip: gunzipSync,
  'x-gzip': gunzipSync,
  deflate: inflateSync,
  br: brotliDecompressSync,
};

/**
 * Returns the members that a 2xx names as failed, with the status of each; none if the response is
 * anything but `{"failed": [{"index": 3, "status": 503}, …]}`: then the 2xx holds for all members.
 * @param size of the batch
 * @returns undefined if the body claims to be JSON, and is cut, too long or unreadable: it may name
 *   members unseen
 */
export function failedMembers(
  response: Pick<EndpointResponse, 'body' | 'headers' | 'truncated'>,
  size: number,
): ReadonlyMap<number, number> | undefined {
  const { body, truncated } = response;
  const type = headerOf(response, 'content-type');
  const encoding = headerOf(response, 'content-encoding')?.trim().toLowerCase() ?? 'identity';
  const isPlain = encoding === 'identity' || encoding === '';
  const claimsJson =
    type === undefined
      ? !isPlain || /^\s*[[{]/.test(body.toString('latin1', 0, 64))
      : /json/i.test(type);
  if (!claimsJson || (body.length === 0 && !truncated)) return new Map();
  try {
    const options = { maxOutputLength: MOST_DECOMPRESSED_BYTES };
    const bytes = isPlain ? body : DECOMPRESS[encoding]?.(body, options);
    if (bytes === undefined) return undefined;
    const text = bytes.toString('utf8').replace(BYTE_ORDER_MARK, '').trim();
    if (text === '' && !truncated) return new Map();
    return membersIn(JSON.parse(text), size);
  } catch {
    return undefined;
  }
}

function membersIn(answer: unknown, size: number): ReadonlyMap<number, number> {
  const { failed: entries } = (answer ?? {}) as { failed?: unknown };
  const failed = new Map<number, number>();
  for (const entry of Array.isArray(entries) ? (entries as unknown[]) : []) {
    const { index, status } = (entry ?? {}) as { index?: unknown; status?: unknown };
    if (!isWithin(index, 0, size - 1) || !isWithin(status, LEAST_STATUS, MOST_STATUS)) {
      return new Map();
    }
    failed.set(index, status);
  }
  return failed;
}

function isWithin(value: unknown, least: number, most: number): value is number {
  return Number.isInteger(value) && least <= Number(value) && Number(value) <= most;
}
