import { CliError, usage } from '../process-context';

/**
 * Resolves the address of Waypost and the token for it. A token goes only to its own address: a
 * stored token is never sent to another address. A data dir counts only if `npm start` of this user
 * made it, and while it runs: afterwards anybody on the machine may listen at its addresses.
 */

/** The stored login. */
export interface StoredLogin {
  url: string;
  ingestUrl?: string | undefined;
  token: string;
}

/** The data dir in the present folder. */
export type Local = { dir: string } & (
  | { state: 'running'; login: Omit<StoredLogin, 'token'> & { token: string | undefined } }
  /** `unknown`: no `npm start` of this user has made the folder */
  | { state: 'unknown' | 'stopped' }
);

export interface Given {
  /** `--url` */
  url?: string | undefined;
  env: Record<string, string | undefined>;
  kept?: StoredLogin | undefined;
  local?: Local | undefined;
  /** the admin token of the services may be used, from the environment and from the data dir */
  adminToken?: boolean;
}

export interface Installation {
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

/** @throws CliError for an invalid address, and for a data dir that gives none now */
export function resolveInstallation({
  url,
  env,
  kept,
  local,
  adminToken = true,
}: Given): Installation {
  const named = url ?? (env.WAYPOST_URL || undefined);
  const envToken = env.WAYPOST_TOKEN || (adminToken && env.WAYPOST_ADMIN_TOKEN) || undefined;
  const here = loginOf(local, adminToken);
  const envIngest = env.WAYPOST_INGEST_URL
    ? checkUrl(env.WAYPOST_INGEST_URL, 'WAYPOST_INGEST_URL')
    : undefined;
  if (named !== undefined) {
    const control = checkUrl(named, url === undefined ? 'WAYPOST_URL' : '--url');
    const same = [kept, here].find((one) => one && sameOrigin(one.url, control));
    return {
      url: control,
      ingestUrl: envIngest ?? same?.ingestUrl ?? ingestBeside(control),
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
  requireRunning(local);
  return {
    url: here?.url ?? DEFAULT_CONTROL,
    ingestUrl: envIngest ?? here?.ingestUrl ?? DEFAULT_INGEST,
    token: envToken ?? here?.token,
    from: local ? `the data dir ${local.dir}` : 'the defaults',
  };
}

/** Returns what a data dir gives while its system runs. */
function loginOf(local: Local | undefined, adminToken: boolean) {
  if (local?.state !== 'running') return undefined;
  const { login } = local;
  return {
    ...login,
    token: adminToken ? login.token : undefined,
  };
}

/** @throws CliError for a data dir whose system is unknown, or does not run */
function requireRunning(local: Local | undefined): void {
  if (local?.state === 'unknown') throw unknownDataDir(local.dir);
  if (local?.state === 'stopped') throw stoppedSystem(local.dir);
}

/** The folder may have come with a repository, and would then name a stranger's addresses. */
function unknownDataDir(dir: string): CliError {
  return new CliError(
    `No \`npm start\` of yours has made ${dir}, so nothing in it is used. If you have moved the ` +
      'folder here, or use another XDG_STATE_HOME, run `npm start` here again. For another ' +
      'Waypost, run `waypost login --url ADDRESS`, or set WAYPOST_URL and WAYPOST_TOKEN.',
  );
}

function stoppedSystem(dir: string): CliError {
  return new CliError(
    `The Waypost of ${dir} is not running. Run \`npm start\`, and try again once it is ready. ` +
      'For another Waypost, run `waypost login --url ADDRESS`, or set WAYPOST_URL and ' +
      'WAYPOST_TOKEN.',
  );
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
