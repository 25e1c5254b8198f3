import { type Fetch } from './options.js';

/** The differences between Node and browsers. */

export interface Platform {
  /**
   * CORS must consider each request simple (text/plain, no custom header), because a preflight
   * costs a round trip. Requests must be small enough to be sent after the page has closed.
   */
  browser: boolean;
  fetch: Fetch;
  gzip?: (text: string) => Promise<Uint8Array<ArrayBuffer>>;
  /** if `fetch` cannot outlive its page; returns false if the browser refused it */
  beacon?: (url: string, body: string) => boolean;
  /**
   * Calls the listener when this may be the last chance to send.
   * @returns a function that removes the listener
   */
  onLeave(listener: () => void): () => void;
  warn(text: string): void;
  debug?: (text: string) => void;
}

/** The globals that this file uses. Node and browsers each have a part of them. */
interface Globals {
  process?: {
    versions?: { node?: string };
    env?: Record<string, string | undefined>;
    getBuiltinModule?: (name: string) => unknown;
    on(event: 'beforeExit', listener: () => void): unknown;
    off(event: 'beforeExit', listener: () => void): unknown;
  };
  document?: EventSource & { visibilityState: string };
  navigator?: { sendBeacon?: (url: string, body: string) => boolean };
  addEventListener?: EventSource['addEventListener'];
  removeEventListener?: EventSource['removeEventListener'];
  Request?: { prototype: object };
}

interface EventSource {
  addEventListener(type: string, listener: () => void): void;
  removeEventListener(type: string, listener: () => void): void;
}

interface Zlib {
  gzip(
    text: string,
    options: { level: number },
    done: (error: Error | null, zipped: Uint8Array<ArrayBuffer>) => void,
  ): void;
}

export function detectPlatform(globals: object = globalThis): Platform {
  const here = globals as Globals;
  const common = {
    // Read at each request: tracing and tests replace it.
    fetch: ((url, init) =>
      (globalThis as unknown as { fetch: Fetch }).fetch(url, init)) satisfies Fetch,
    // eslint-disable-next-line no-console -- a library has no log; applications set `onFailed`
    warn: (text: string) => console.warn(`@waypost/node: ${text}`),
  };
  const { process } = here;
  if (process?.versions?.node === undefined || here.document !== undefined) {
    return { ...common, ...browser(here) };
  }
  return { ...common, ...node(process) };
}

function node(process: NonNullable<Globals['process']>): Omit<Platform, 'fetch' | 'warn'> {
  // Neither import nor require, because browsers load the same file.
  const zlib = process.getBuiltinModule?.('node:zlib') as Zlib | undefined;
  const platform: Omit<Platform, 'fetch' | 'warn'> = {
    browser: false,
    onLeave: (listener) => {
      process.on('beforeExit', listener);
      return () => process.off('beforeExit', listener);
    },
  };
  if (zlib) platform.gzip = (text) => gzip(zlib, text);
  if ((process.env?.DEBUG ?? '').includes('analytics')) {
    // eslint-disable-next-line no-console -- DEBUG enables it
    platform.debug = (text) => console.error(`analytics: ${text}`);
  }
  return platform;
}

function gzip(zlib: Zlib, text: string): Promise<Uint8Array<ArrayBuffer>> {
  return new Promise((resolve, reject) => {
    // The fastest level: every level shrinks this JSON to a tenth.
    zlib.gzip(text, { level: 1 }, (error, zipped) => (error ? reject(error) : resolve(zipped)));
  });
}

function browser(here: Globals): Omit<Platform, 'fetch' | 'warn'> {
  const { document, navigator } = here;
  const sendBeacon = navigator?.sendBeacon?.bind(navigator);
  const outlives = here.Request !== undefined && 'keepalive' in here.Request.prototype;
  const platform: Omit<Platform, 'fetch' | 'warn'> = {
    browser: true,
    onLeave: (listener) => {
      const hidden = () => {
        if (document?.visibilityState === 'hidden') listener();
      };
      // Phones close a page without pagehide, and some browsers hide one without visibilitychange.
      // Either event alone misses pages.
      document?.addEventListener('visibilitychange', hidden);
      here.addEventListener?.('pagehide', listener);
      return () => {
        document?.removeEventListener('visibilitychange', hidden);
        here.removeEventListener?.('pagehide', listener);
      };
    },
  };
  if (!outlives && sendBeacon) platform.beacon = sendBeacon;
  return platform;
}
