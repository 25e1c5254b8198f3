import { usage } from '../process-context';

/**
 * Where Waypost is, and by which token it is asked. A token is given only to the place that it was meant for: one that was
 * kept for an address is never sent to another, and that of a data dir to this machine alone.
 */

/** What `waypost login` keeps. */
export interface StoredLogin {
  url: string;
  ingestUrl?: string | undefined;
  token: string;
}

/** What a system of this machine says of itself in its data dir. */
export interface Local {
  dir: string;
  /** undefined: it wrote none down, or they cannot be read */
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
  /** undefined: not known */
  ingestUrl: string | undefined;
  /** undefined: nobody gave one that is meant for this place */
  token: string | undefined;
  /** for people: where these come from */
  from: string;
}

const DEFAULT_CONTROL = 'http://127.0.0.1:8090';
const DEFAULT_INGEST = 'http://127.0.0.1:8080';

/** @throws CliError for an address that is none */
export function resolvePlace({ url, env, kept, local }: Given): Place {
  const named = url ?? (env.WAYPOST_URL || undefined);
  const envToken = env.WAYPOST_TOKEN || env.WAYPOST_ADMIN_TOKEN || undefined;
  const envIngest = env.WAYPOST_INGEST_URL ? checkUrl(env.WAYPOST_INGEST_URL, 'WAYPOST_INGEST_URL') : undefined;
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
    // A token of the environment belongs to an address of the environment.
    return { ...kept, ingestUrl: envIngest ?? kept.ingestUrl ?? ingestBeside(kept.url), from: 'waypost login' };
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
  // Its file could have been written by anybody who may write there.
  return isLoopback(url) ? { url, ingestUrl: local.ingestUrl, token: local.token } : undefined;
}

/** Where control listens at its usual port, so does ingest. */
function ingestBeside(url: string): string | undefined {
  const { protocol, hostname, port } = new URL(url);
  return port === '8090' ? `${protocol}//${hostname}:8080` : undefined;
}

/** @returns its origin and path, without a slash at the end. @throws CliError */
export function checkUrl(text: string, name: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw usage(`${name} must be an address such as http://127.0.0.1:8090, not "${text}".`);
  }
  if (url.username || url.password) throw usage(`${name} must not contain a user name or password. Use a token.`);
  return (url.origin + url.pathname).replace(/\/+$/, '');
}

function sameOrigin(a: string, b: string): boolean {
  return new URL(a).origin === new URL(b).origin;
}

function isLoopback(url: string): boolean {
  return /^(localhost|127(\.\d+){3}|\[::1\])$/.test(new URL(url).hostname);
}
