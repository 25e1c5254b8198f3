import { createHash, X509Certificate } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import tls, { type SecureContext, type SecureContextOptions } from 'node:tls';

/**
 * Leaves certificate authorities out of every TLS connection of this process, whatever Node and the
 * system carry. Libraries open connections too (Kafka, SMTP, PostgreSQL, AWS, `fetch`), so the
 * place is Node's own function that makes the context of a connection.
 *
 * A connection with authorities of its own (a destination's `tls.ca`, KAFKA_SSL_CA_FILE) keeps
 * exactly those: somebody chose them for it. All other authorities that people added stay: those of
 * NODE_EXTRA_CA_CERTS, of `--use-system-ca`, of `--use-openssl-ca` with SSL_CERT_FILE and
 * SSL_CERT_DIR.
 */

/**
 * Authorities whose intermediates have keys that can be computed (CVE-2026-111943). NSS 3.131.1
 * removed them, and so did Node 22.23.4, 24.22.1 and 26.12.1. The SHA-256 fingerprints are those of
 * the certificates in `tls.rootCertificates` of Node 20.20.2; of the four authorities named emSign
 * there, `emSign Root CA - G1` stays.
 */
const COMPROMISED: Readonly<Record<string, string>> = {
  'emSign ECC Root CA - G3':
    '86:A1:EC:BA:08:9C:4A:8D:3B:BE:27:34:C6:12:BA:34:1D:81:3E:04:3C:F9:E8:A8:62:CD:5C:57:A3:6B:BE:6B',
  'emSign Root CA - C1':
    '12:56:09:AA:30:1D:A0:A2:49:B9:7A:82:39:CB:6A:34:21:6F:44:DC:AC:9F:39:54:B1:42:92:F2:E8:C8:60:8F',
  'emSign ECC Root CA - C3':
    'BC:4D:80:9B:15:18:9D:78:DB:3E:1D:8C:F4:F9:72:6A:79:5D:A1:64:3C:A5:F1:35:8E:1D:DB:0E:DC:0D:7E:B3',
};
const FIXED_NODES = '26.12.1, 24.22.1 and 22.23.4';

/**
 * A SHA-256 fingerprint: 64 hexadecimal digits, also with colons as
 * `openssl x509 -fingerprint -sha256` prints it.
 */
const FINGERPRINT = /^(?:[0-9a-f]{64}|[0-9a-f]{2}(?::[0-9a-f]{2}){31})$/i;

/** Returns the fingerprint in one spelling, undefined for any other text. */
export function readFingerprint(text: string): string | undefined {
  return FINGERPRINT.test(text) ? text.replaceAll(':', '').toLowerCase() : undefined;
}

/** Functions of Node 22.19 and 24.5, which the types of Node 20 lack. */
const node = tls as typeof tls & {
  getCACertificates?: (type: 'default') => string[];
  setDefaultCACertificates?: (pems: readonly string[]) => void;
};

type MakeContext = (options?: SecureContextOptions) => SecureContext;

/**
 * Node's function after the replacement. The copies of this module in one process share it, and
 * what it left out.
 */
type Replaced = MakeContext & { leftOut?: readonly X509Certificate[] };

/**
 * Replaces Node's function, once in a process. It costs nothing until the first connection. A
 * mistake in the setting is passed over here: `loadSettings` reports it.
 */
export function distrustRoots(): void {
  const original: Replaced = tls.createSecureContext;
  if (original.leftOut !== undefined) return;
  const listed = process.env.WAYPOST_DISTRUSTED_ROOTS ?? '';
  const texts = [...Object.values(COMPROMISED), ...listed.split(',')];
  const distrusted = new Set(texts.map((text) => readFingerprint(text.trim())));
  let make: MakeContext | undefined;
  const replaced: Replaced = (options) => {
    make ??= prepare();
    return make(options);
  };
  const prepare = (): MakeContext => {
    const all = trustedByDefault();
    const kept = all.filter((pem) => !distrusted.has(fingerprintOf(pem)));
    if (kept.length === all.length) return original;
    replaced.leftOut = all
      .filter((pem) => distrusted.has(fingerprintOf(pem)))
      .map((pem) => new X509Certificate(pem));
    if (!node.setDefaultCACertificates) return contextsOf(kept, original);
    node.setDefaultCACertificates(kept);
    return original;
  };
  replaced.leftOut = [];
  Object.assign(tls, { createSecureContext: replaced });
  syncBuiltinESMExports();
}

/** The options that make a context another one than the usual. All others are of the connection. */
const OWN_CONTEXT = [
  'cert',
  'key',
  'pfx',
  'crl',
  'sigalgs',
  'ecdhCurve',
  'dhparam',
  'secureOptions',
  'secureProtocol',
  'minVersion',
  'maxVersion',
  'sessionIdContext',
  'ticketKeys',
  'sessionTimeout',
  'honorCipherOrder',
  'privateKeyEngine',
  'privateKeyIdentifier',
  'clientCertEngine',
] as const satisfies readonly (keyof SecureContextOptions)[];

/**
 * Returns what makes contexts on a Node without `setDefaultCACertificates`. A context with 140
 * authorities takes a megabyte and many milliseconds, so all connections without a certificate of
 * their own share one.
 */
function contextsOf(authorities: string[], original: MakeContext): MakeContext {
  let shared: SecureContext | undefined;
  return (options = {}) => {
    if (options.ca) return original(options);
    const isUsual =
      (options.ciphers === undefined || options.ciphers === tls.DEFAULT_CIPHERS) &&
      OWN_CONTEXT.every((name) => options[name] === undefined);
    if (!isUsual) return original({ ...options, ca: authorities });
    shared ??= original({ ca: authorities });
    return shared;
  };
}

/** Returns the authorities that Node trusts where a connection names none, each as PEM. */
function trustedByDefault(): string[] {
  // Node's own list lacks those that OpenSSL reads by itself.
  if (usesOpenSslStore()) return [...openSslStore(), ...extraCertificates()];
  return node.getCACertificates?.('default') ?? [...tls.rootCertificates, ...extraCertificates()];
}

function extraCertificates(): string[] {
  const file = process.env.NODE_EXTRA_CA_CERTS;
  return file ? certificatesIn(file) : [];
}

/** What Node's `process.config` says about its build (missing in its types). */
interface Build {
  target_defaults?: { defines?: readonly string[] };
}

/**
 * Returns whether OpenSSL's files replace Node's own list. Builds of distributions do so without
 * the option.
 */
function usesOpenSslStore(): boolean {
  const given = [...(process.env.NODE_OPTIONS ?? '').split(/\s+/), ...process.execArgv];
  const chosen = given.findLast((option) => /^--use-(openssl|bundled)-ca$/.test(option));
  if (chosen !== undefined) return chosen === '--use-openssl-ca';
  const { target_defaults: build } = process.config as Build;
  return build?.defines?.includes('NODE_OPENSSL_CERT_STORE') ?? false;
}

/** Where OpenSSL looks, by its build: Node's own, Debian's, Fedora's, that of macOS. */
const OPENSSL_DIRS = ['/etc/ssl', '/usr/lib/ssl', '/etc/pki/tls', '/System/Library/OpenSSL'];
/** OpenSSL reads no other files of a folder: the hash of the subject, and a number. */
const HASHED = /^[0-9a-f]{8}\.\d+$/;

function openSslStore(): string[] {
  const { SSL_CERT_FILE: file, SSL_CERT_DIR: dirs } = process.env;
  for (const base of OPENSSL_DIRS) {
    const folders = dirs?.split(':') ?? [join(base, 'certs')];
    const found = [
      ...certificatesIn(file ?? join(base, 'cert.pem')),
      ...folders.flatMap((folder) => hashedFilesOf(folder).flatMap(certificatesIn)),
    ];
    if (found.length > 0) return found;
  }
  return [];
}

function hashedFilesOf(folder: string): string[] {
  try {
    return readdirSync(folder).flatMap((name) => (HASHED.test(name) ? [join(folder, name)] : []));
  } catch {
    return [];
  }
}

/**
 * Returns the readable certificates of a file; none if it cannot be read, as Node and OpenSSL do.
 */
function certificatesIn(file: string): string[] {
  let text: string;
  try {
    text = readFileSync(file, 'latin1');
  } catch {
    return [];
  }
  const pems = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  return pems.filter(isReadable);
}

function isReadable(pem: string): boolean {
  try {
    return new X509Certificate(pem).fingerprint256 !== '';
  } catch {
    return false;
  }
}

/** Hashes the certificate without parsing it, which takes a hundred times as long. */
function fingerprintOf(pem: string): string {
  const der = Buffer.from(pem.replace(/-----[^-]+-----/g, ''), 'base64');
  return createHash('sha256').update(der).digest('hex');
}

/**
 * Returns the name of the left out authority that signed a chain; undefined if none did.
 * @param leaf the certificate of the other side, with those that it sent
 */
export function distrustedIssuer(leaf: X509Certificate): string | undefined {
  const { leftOut = [] } = tls.createSecureContext as Replaced;
  let top = leaf;
  for (let next = top.issuerCertificate; next; next = top.issuerCertificate) {
    if (next.fingerprint256 === top.fingerprint256) break;
    top = next;
  }
  const found = leftOut.find(
    (root) =>
      root.fingerprint256 === top.fingerprint256 ||
      (top.checkIssued(root) && top.verify(root.publicKey)),
  );
  return found && (/^CN=(.*)$/m.exec(found.subject)?.[1] ?? found.fingerprint256);
}

/**
 * Returns a sentence for the log if this Node itself still carries authorities that must not be
 * trusted.
 */
export function outdatedNode(): string | undefined {
  const carried = new Set(tls.rootCertificates.map(fingerprintOf));
  const names = Object.entries(COMPROMISED).flatMap(([name, text]) =>
    carried.has(readFingerprint(text) ?? '') ? [name] : [],
  );
  if (names.length === 0) return undefined;
  return (
    `Node ${process.version} trusts authorities whose keys can be computed ` +
    `(CVE-2026-111943): ${names.join(', ')}. ` +
    `Waypost leaves them out of its connections. Node ${FIXED_NODES} no longer have them`
  );
}
