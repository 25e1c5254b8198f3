import { type Fetch } from './options.js';

/** What differs between Node and browsers. */

export interface Platform {
  /**
   * Requests must be simple ones in the sense of CORS (text/plain, no header of our own) or each costs a preflight; and
   * must be small enough to outlive their page.
   */
  browser: boolean;
  fetch: Fetch;
  gzip?: (text: string) => Promise<Uint8Array<ArrayBuffer>>;
  /** where `fetch` cannot outlive its page; false where it was not taken */
  beacon?: (url: string, body: string) => boolean;
  /** Calls when there may be no other moment to send; returns what ends that. */
  onLeave(listener: () => void): () => void;
  warn(text: string): void;
  debug?: (text: string) => void;
}

/** What this file uses of the globals, which Node and browsers have in part. */
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
    // Looked up with each request: tracing and tests put their own in its place.
    fetch: ((url, init) => (globalThis as unknown as { fetch: Fetch }).fetch(url, init)) satisfies Fetch,
    // eslint-disable-next-line no-console -- a library has no log; whoever has one sets `onFailed`
    warn: (text: string) => console.warn(`@waypost/node: ${text}`),
  };
  const { process } = here;
  if (process?.versions?.node === undefined || here.document !== undefined) return { ...common, ...browser(here) };
  return { ...common, ...node(process) };
}

function node(process: NonNullable<Globals['process']>): Omit<Platform, 'fetch' | 'warn'> {
  // Neither an import nor a require: the same file is loaded by browsers.
  const zlib = process.getBuiltinModule?.('node:zlib') as Zlib | undefined;
  return {
    browser: false,
    ...(zlib && { gzip: (text: string) => gzip(zlib, text) }),
    onLeave: (listener) => {
      process.on('beforeExit', listener);
      return () => process.off('beforeExit', listener);
    },
    ...((process.env?.DEBUG ?? '').includes('analytics') && {
      // eslint-disable-next-line no-console -- this is what DEBUG asks for
      debug: (text: string) => console.error(`analytics: ${text}`),
    }),
  };
}

function gzip(zlib: Zlib, text: string): Promise<Uint8Array<ArrayBuffer>> {
  return new Promise((resolve, reject) => {
    // The fastest level: JSON shrinks to a tenth by any.
    zlib.gzip(text, { level: 1 }, (error, zipped) => (error ? reject(error) : resolve(zipped)));
  });
}

function browser(here: Globals): Omit<Platform, 'fetch' | 'warn'> {
  const { document, navigator } = here;
  const sendBeacon = navigator?.sendBeacon?.bind(navigator);
  const outlives = here.Request !== undefined && 'keepalive' in here.Request.prototype;
  return {
    browser: true,
    ...(!outlives && sendBeacon && { beacon: sendBeacon }),
    onLeave: (listener) => {
      const hidden = () => {
        if (document?.visibilityState === 'hidden') listener();
      };
      // Phones end a page without pagehide, and some browsers hide one without telling: each alone misses pages.
      document?.addEventListener('visibilitychange', hidden);
      here.addEventListener?.('pagehide', listener);
      return () => {
        document?.removeEventListener('visibilitychange', hidden);
        here.removeEventListener?.('pagehide', listener);
      };
    },
  };
}
