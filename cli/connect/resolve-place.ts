import { usage } from '../process-context';

/**
 * Resolves the address of Waypost and the token for it. A token goes only to its own address: a
 * stored token is never sent to another address, and the token of a data dir goes only to this
 * machine.
 */

/** The stored login. */
export interface StoredLogin {
  url: string;
  ingestUrl?: string | undefined;
  token: string;
}

/** Addresses and token that a local system writes to its data dir. */
export interface Local {
  dir: string;
  /** undefined: the file is missing or unreadable */
  url?: string | undefined;
  ingestUrl?: string | undefined;
  token?: string | undefined;
}

export interface Given {
  /** `--url` */
  url?: string | undefined;
  env: Record<string, string | undefined>;
  kept?: StoredLogin | undefined;
  local?: Local | undefined;
}

export interface Place {
  /** control, without a path */
  url: string;
  /** undefined: unknown */
  ingestUrl: string | undefined;
  /** undefined: no token is known for this address */
  token: string | undefined;
  /** for people: the origin of the address and the token */
  from: string;
}

const DEFAULT_CONTROL = 'http://127.0.0.1:8090';
const DEFAULT_INGEST = 'http://127.0.0.1:8080';

/** @throws CliError for an invalid address */
export function resolvePlace({ url, env, kept, local }: Given): Place {
  const named = url ?? (env.WAYPOST_URL || undefined);
  const envToken = env.WAYPOST_TOKEN || env.WAYPOST_ADMIN_TOKEN || undefined;
  const envIngest = env.WAYPOST_INGEST_URL
    ? checkUrl(env.WAYPOST_INGEST_URL, 'WAYPOST_INGEST_URL')
    : undefined;
  if (named !== undefined) {
    const place = checkUrl(named, url === undefined ? 'WAYPOST_URL' : '--url');
    const same = [kept, localKept(local)].find((one) => one && sameOrigin(one.url, place));
    return {
      url: place,
      ingestUrl: envIngest ?? same?.ingestUrl ?? ingestBeside(place),
      token: envToken ?? same?.token,
      from: url === undefined ? 'WAYPOST_URL' : '--url',
    };
  }
  if (kept) {
    // A token from the environment belongs to an address from the environment.
    return {
      ...kept,
      ingestUrl: envIngest ?? kept.ingestUrl ?? ingestBeside(kept.url),
      from: 'waypost login',
    };
  }
  const here = localKept(local);
  return {
    url: here?.url ?? DEFAULT_CONTROL,
    ingestUrl: envIngest ?? here?.ingestUrl ?? DEFAULT_INGEST,
    token: envToken ?? here?.token,
    from: here && local ? `the data dir ${local.dir}` : 'the defaults',
  };
}

function localKept(local: Local | undefined): StoredLogin | undefined {
  if (!local?.token) return undefined;
  const url = local.url ?? DEFAULT_CONTROL;
  // Anyone with write access to the directory could have written this file.
  return isLoopback(url) ? { url, ingestUrl: local.ingestUrl, token: local.token } : undefined;
}

/** If control listens on its default port, assume that ingest does too. */
function ingestBeside(url: string): string | undefined {
  const { protocol, hostname, port } = new URL(url);
  return port === '8090' ? `${protocol}//${hostname}:8080` : undefined;
}

/**
 * @returns origin and path, without a trailing slash
 * @throws CliError
 */
export function checkUrl(text: string, name: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw usage(`${name} must be an address such as http://127.0.0.1:8090, not "${text}".`);
  }
  if (url.username || url.password) {
    throw usage(`${name} must not contain a user name or password. Use a token.`);
  }
  return (url.origin + url.pathname).replace(/\/+$/, '');
}

function sameOrigin(a: string, b: string): boolean {
  return new URL(a).origin === new URL(b).origin;
}

function isLoopback(url: string): boolean {
  return /^(localhost|127(\.\d+){3}|\[::1\])$/.test(new URL(url).hostname);
}
