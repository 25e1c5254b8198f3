import { type Message } from './calls.js';

/** The required part of `fetch`: Node and browsers have it. */
export type Fetch = (
  url: string,
  init: {
    method: 'POST';
    headers: Record<string, string>;
    body: string | Uint8Array<ArrayBuffer>;
    redirect: 'manual';
    keepalive: boolean;
    signal: AbortSignal;
  },
) => Promise<{
  status: number;
  headers: { get(name: string): string | null };
  text(): Promise<string>;
}>;

/** The reason why the client gave up messages. */
export interface Failure {
  /**
   * `network`: no response. `status`: a response other than success, with its `status`. `rejected`:
   * the server accepted the batch but not this call. `queue_full`, `closed`: the call was not
   * queued, or `close` could not wait for it.
   */
  code: 'network' | 'status' | 'rejected' | 'queue_full' | 'closed';
  /** the text of the server or of the network error */
  message: string;
  status?: number;
}

export interface Options {
  writeKey: string;
  /** address of ingest (default `http://localhost:8080`) */
  endpoint?: string;
  /**
   * number of queued calls that are sent without waiting for `flushAfterMs` (default 20); 1 sends
   * each by itself
   */
  flushAt?: number;
  /** time that a call waits for others (default 5,000) */
  flushAfterMs?: number;
  /** memory limit of calls that wait or are in flight (default 32 MiB, in browsers 4 MiB) */
  queueBytes?: number;
  /** number of concurrent requests (default 4, in browsers 1) */
  maxInFlight?: number;
  /** time after which the client gives up a batch (default one hour) */
  retryForMs?: number;
  /** gzip bodies (default true; never in browsers, where it would cost a preflight) */
  gzip?: boolean;
  /** Receives each message before it is queued. Returns the message to send, or null to drop it. */
  beforeSend?: (message: Message) => Message | null;
  /** receives messages that the server has accepted */
  onDelivered?: (messages: Message[]) => void;
  /** receives messages that the client gave up; by default it prints a line on the console */
  onFailed?: (messages: Message[], failure: Failure) => void;
  /** default: the global `fetch` */
  fetch?: Fetch;
}
