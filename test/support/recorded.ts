import { readFileSync } from 'node:fs';
import { join } from 'node:path';
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

export function recordedRequests(): RecordedRequest[] {
  return JSON.parse(
    readFileSync(join(ROOT, 'test/clients/recorded.json'), 'utf8'),
  ) as RecordedRequest[];
}
