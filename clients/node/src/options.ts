import { type Message } from './calls.js';

/** What `fetch` must be able to do: that of Node and browsers can. */
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
) => Promise<{ status: number; headers: { get(name: string): string | null }; text(): Promise<string> }>;

/** Why messages were given up. */
export interface Failure {
  /**
   * `network`: no answer. `status`: another answer than success, which is in `status`. `rejected`: the server took the
   * batch and not this call. `queue_full`, `closed`: it was not even queued, or `close` could not wait for it.
   */
  code: 'network' | 'status' | 'rejected' | 'queue_full' | 'closed';
  /** what the server or the network said */
  message: string;
  status?: number;
}

export interface Options {
  writeKey: string;
  /** where ingest is (default `http://localhost:8080`) */
  endpoint?: string;
  /** how many queued calls are sent at once, without waiting for `flushAfterMs` (default 20); 1 sends each by itself */
  flushAt?: number;
  /** how long a call waits for others (default 5,000) */
  flushAfterMs?: number;
  /** bounds what is held in memory, being sent or waiting (default 32 MiB, in browsers 4 MiB) */
  queueBytes?: number;
  /** how many requests are made at a time (default 4, in browsers 1) */
  maxInFlight?: number;
  /** how long a batch is tried before it is given up (default an hour) */
  retryForMs?: number;
  /** gzip bodies (default true; never in browsers, where it would cost a preflight) */
  gzip?: boolean;
  /** Sees each message as it is queued and returns what is sent instead, or null to send nothing. */
  beforeSend?: (message: Message) => Message | null;
  /** hears of messages that the server has taken */
  onDelivered?: (messages: Message[]) => void;
  /** hears of messages that were given up; by default a line on the console */
  onFailed?: (messages: Message[], failure: Failure) => void;
  /** default: the one of the surroundings */
  fetch?: Fetch;
}
