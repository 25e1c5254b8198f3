/** Says in one sentence why pip failed, and what to do. */

/** What pip was to install. */
export interface PipAttempt {
  /** name and version */
  package: string;
  /** the folder that its files go to */
  folder: string;
  /** the bytes that the folder needs, formatted */
  size: string;
}

/** The first matching row decides. */
const PROBLEMS: readonly (readonly [RegExp, (attempt: PipAttempt) => string])[] = [
  [
    /No space left on device|Disk quota exceeded/i,
    ({ folder, size }) => `the disk of ${folder} is full: free ${size} there and start again.`,
  ],
  [
    /DO NOT MATCH THE HASHES/,
    () =>
      'the index of pip has a file with another checksum than the pinned one: ask its ' +
      'administrator, or set PIP_INDEX_URL to another index.',
  ],
  [
    /Proxy Authentication Required|\b407\b/i,
    () => 'the proxy refuses its user (status 407): put a user and a password into HTTPS_PROXY.',
  ],
  [
    /ProxyError|Cannot connect to proxy/i,
    () =>
      'the proxy cannot be reached: correct HTTPS_PROXY, or the proxy in the configuration of pip.',
  ],
  [
    /CERTIFICATE_VERIFY_FAILED|SSLError|SSLCertVerificationError/,
    () =>
      "the certificate of the index is not trusted: name the file of your company's " +
      'authority in PIP_CERT.',
  ],
  [
    /Permission denied|Read-only file system/i,
    ({ folder }) => `${folder} cannot be written: give this user the right to write there.`,
  ],
  [
    /Connection broken|IncompleteRead|Connection aborted|ConnectionResetError|Read timed out|ProtocolError/,
    () => 'the connection to the index was cut: start again.',
  ],
  [
    /NewConnectionError|ConnectTimeout|Max retries exceeded|Name or service not known|nodename nor servname/,
    () =>
      'the index cannot be reached: check the network, or set HTTPS_PROXY to your proxy or ' +
      'PIP_INDEX_URL to a mirror.',
  ],
  [
    /No matching distribution|Could not find a version/,
    () =>
      'the index of pip does not have it: set PIP_INDEX_URL to an index that has it, or update pip.',
  ],
];

/** Returns the sentence about the error output of pip. */
export function pipProblem(output: string, attempt: PipAttempt): string {
  const reason =
    PROBLEMS.find(([pattern]) => pattern.test(output))?.[1](attempt) ?? `${lastError(output)}.`;
  return `There is no Java 17 or newer here, and pip could not bring ${attempt.package}: ${reason}`;
}

function lastError(output: string): string {
  const lines = output.split('\n').filter((line) => line.trim() !== '');
  const error =
    lines.findLast((line) => line.startsWith('ERROR:')) ?? lines.at(-1) ?? 'no reason was given';
  return error.replace(/^ERROR: /, '').replace(/\.$/, '');
}
