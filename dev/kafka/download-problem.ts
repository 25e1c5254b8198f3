/**
 * Says in one sentence why a file could not be downloaded, and what to do. It shows no user and no
 * password.
 */

/** A server that responded with another status than 200. */
export class UnexpectedStatus extends Error {
  constructor(readonly status: number) {
    super(`status ${String(status)}`);
  }
}

/** A file with other bytes than the pinned ones. */
export class WrongChecksum extends Error {
  constructor(
    readonly file: string,
    readonly sha256: string,
  ) {
    super(`${file} has the SHA-256 ${sha256}`);
  }
}

/** The circumstances of a failure. */
export interface Attempt {
  /** host and port of the server */
  host: string;
  /** the folder that the files go to */
  folder: string;
  /** the bytes that the folder needs, formatted */
  size: string;
  /** the variable that names the proxy of this host; undefined without a proxy */
  proxy: string | undefined;
}

const UNTRUSTED = /CERT|SELF_SIGNED|UNABLE_TO_(?:VERIFY|GET_ISSUER)/;
const NOT_WRITABLE = new Set(['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EEXIST']);
const CUT = new Set([
  'ECONNRESET',
  'EPIPE',
  'UND_ERR_SOCKET',
  'UND_ERR_BODY_TIMEOUT',
  'ERR_STREAM_PREMATURE_CLOSE',
]);

/** Returns the sentence about an error. */
export function downloadProblem(error: unknown, attempt: Attempt): string {
  const { host, folder, proxy } = attempt;
  if (error instanceof WrongChecksum) {
    return (
      `${error.file} from ${host} is not the file that Waypost expects (SHA-256 ` +
      `${error.sha256}): a proxy or a mirror changed it, so ask its administrator or set ` +
      'WAYPOST_MAVEN_MIRROR to another one.'
    );
  }
  if (error instanceof UnexpectedStatus) return statusProblem(error.status, attempt);
  const code = codeOf(error);
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return `The disk of ${folder} is full (${code}): free ${attempt.size} there and start again.`;
  }
  if (NOT_WRITABLE.has(code)) {
    return `${folder} cannot be written (${code}): give this user the right to write there.`;
  }
  if (UNTRUSTED.test(code)) {
    return (
      `The certificate of ${host} is not trusted (${code}): name the file of your company's ` +
      'authority in NODE_EXTRA_CA_CERTS.'
    );
  }
  if (CUT.has(code)) {
    return (
      `The connection to ${host} was cut (${code}): start again, and Waypost continues where ` +
      'it stopped.'
    );
  }
  if (proxy !== undefined) {
    return (
      `${host} cannot be reached through the proxy in ${proxy} (${code}): correct ${proxy}, ` +
      'or add the host to NO_PROXY.'
    );
  }
  return (
    `${host} cannot be reached (${code}): check the network, or set HTTPS_PROXY to your ` +
    'proxy or WAYPOST_MAVEN_MIRROR to a mirror.'
  );
}

function statusProblem(status: number, { host, proxy }: Attempt): string {
  const answer = `${host} responds with status ${String(status)}`;
  switch (status) {
    case 407:
      return (
        `The proxy in ${proxy ?? 'HTTPS_PROXY'} refuses its user (status 407): put a user ` +
        'and a password into it.'
      );
    case 401:
    case 403:
      return (
        `${answer}: put a user and a password into WAYPOST_MAVEN_MIRROR, or set it to ` +
        'another mirror.'
      );
    case 404:
      return (
        `${answer}: it does not have the jars of Kafka, so set WAYPOST_MAVEN_MIRROR to a ` +
        'mirror of Maven Central.'
      );
    default:
      return `${answer}: start again later, or set WAYPOST_MAVEN_MIRROR to another mirror.`;
  }
}

/**
 * Returns the code of the innermost error, which names the reason: fetch wraps the error of the
 * connection.
 */
function codeOf(error: unknown): string {
  const { cause, errors, code, message } = error as Partial<AggregateError & { code: unknown }>;
  // A connection that was tried at several addresses has an error for each of them.
  const inner: unknown = cause ?? errors?.[0];
  if (inner !== undefined && inner !== null) return codeOf(inner);
  return typeof code === 'string' ? code : (message ?? 'unknown error');
}
