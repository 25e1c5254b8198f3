import { createPrivateKey, type KeyObject, type X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { isKeepValue, type TlsFields } from '../../../shared/api/endpoint-auth';
import { defined } from '../../../shared/collections/defined';
import { type Encrypted } from '../../../shared/model/config';
import { type EndpointTls } from '../../../shared/model/endpoint-auth';
import { isoTime } from '../../../shared/model/time';
import { readCertificates, tlsEnds } from './certificates';
import {
  type ChangeContext,
  NOTHING_TO_KEEP,
  secretChange,
  type StoredWebhook,
  type WebhookError,
} from './stored-webhook';

/**
 * The client certificate of a URL and its authorities: checked when they are set, so that no
 * request fails by them.
 */

/** @param item as sent, with any mistakes */
export function tlsErrors(
  item: { url?: string | undefined; auth?: unknown; tls?: unknown },
  match: StoredWebhook | undefined,
  around: ChangeContext,
): WebhookError[] {
  const tls = outlineOf(item.tls);
  if (!tls) return [];
  const stored = match?.sealed.tls;
  const errors: Errors = {};
  if (item.url !== undefined && /^http:/i.test(item.url)) errors[''] = 'needs a URL with https';
  const key = keyOf(item, tls, { match, around, errors });
  const { certificate, ca } = tls;
  const chain = certificate === undefined ? [] : certificatesIn(certificate, 'certificate', errors);
  if (certificate !== undefined && tls.key === undefined) {
    errors.key = 'is required beside certificate';
  }
  if (certificate === undefined && tls.key !== undefined) {
    errors.certificate = 'is required beside key';
  }
  // A stored certificate that has expired meanwhile must not prevent other changes.
  if (certificate !== stored?.certificate) errors.certificate ??= validity(chain, around.now);
  if (chain[0] && key && !chain[0].checkPrivateKey(key)) {
    errors.key ??= 'does not belong to the certificate';
  }
  const authorities = ca === undefined ? [] : certificatesIn(ca, 'ca', errors);
  if (
    ca !== stored?.ca &&
    authorities.length > 0 &&
    authorities.every((one) => validity([one], around.now) !== undefined)
  ) {
    errors.ca ??= 'contains no certificate that is valid now';
  }
  const found = Object.entries(errors).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  const refused = found.length === 0 ? refusal({ certificate, key, ca }) : undefined;
  if (refused !== undefined) found.push(['', refused]);
  return found.map(([field, detail]) => [field === '' ? ['tls'] : ['tls', field], detail]);
}

/** by field; empty: all settings together */
type Errors = Record<string, string | undefined>;

interface Outline {
  certificate?: string;
  key?: unknown;
  ca?: string;
}

/** Returns the fields that can be checked. The schema reports the others. */
function outlineOf(given: unknown): Outline | undefined {
  if (typeof given !== 'object' || given === null) return undefined;
  const { certificate, key, ca } = given as Record<string, unknown>;
  return defined({
    certificate: typeof certificate === 'string' && certificate !== '' ? certificate : undefined,
    key: key !== undefined && key !== null ? key : undefined,
    ca: typeof ca === 'string' && ca !== '' ? ca : undefined,
  });
}

/** Returns the private key, sent or kept. */
function keyOf(
  item: { url?: string | undefined; auth?: unknown },
  { key }: Outline,
  {
    match,
    around,
    errors,
  }: { match: StoredWebhook | undefined; around: ChangeContext; errors: Errors },
): KeyObject | undefined {
  if (typeof key === 'string') return parseKey(key, errors);
  if (!isKeepValue(key)) return undefined;
  if (match?.tlsKey === undefined) {
    errors.key = NOTHING_TO_KEEP;
    return undefined;
  }
  errors.key = secretChange(item, match, around);
  return parseKey(match.tlsKey, errors);
}

function parseKey(pem: string, errors: Errors): KeyObject | undefined {
  if (/ENCRYPTED/.test(pem)) {
    errors.key ??= 'must have no passphrase. Decrypt it with openssl pkey';
    return undefined;
  }
  try {
    return createPrivateKey(pem);
  } catch {
    errors.key ??= 'is not a private key in PEM';
    return undefined;
  }
}

/** @returns the certificates in the order of the text; empty with an error if one cannot be read */
function certificatesIn(
  pem: string,
  field: 'certificate' | 'ca',
  errors: Errors,
): X509Certificate[] {
  if (pem.includes('PRIVATE KEY')) {
    errors[field] ??= 'must not contain a private key. Send it as key';
    return [];
  }
  const found = readCertificates(pem);
  if (found.length === 0) errors[field] ??= 'is not a certificate in PEM';
  return found;
}

function validity(chain: readonly X509Certificate[], now: Date): string | undefined {
  for (const { validFrom, validTo } of chain) {
    const [from, to] = [new Date(validFrom), new Date(validTo)];
    if (to <= now) return `expired at ${to.toISOString()}`;
    if (from > now) return `is not valid before ${from.toISOString()}`;
  }
  return undefined;
}

/** Returns why OpenSSL does not use them, for example a key that is too short. */
function refusal({
  certificate,
  key,
  ca,
}: {
  certificate?: string | undefined;
  key?: KeyObject | undefined;
  ca?: string | undefined;
}) {
  try {
    const pem = key?.export({ type: 'pkcs8', format: 'pem' });
    createSecureContext(
      defined({
        cert: certificate,
        key: pem || undefined,
        ca,
      }),
    );
    return undefined;
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    return `is refused by OpenSSL (${code})`;
  }
}

/** @param fields validated by the schema and by `tlsErrors` */
export function sealTls(
  { certificate, key, ca }: TlsFields,
  stored: EndpointTls<Encrypted> | undefined,
  encrypt: (text: string) => Encrypted,
): EndpointTls<Encrypted> | undefined {
  const sealed = key == null ? undefined : isKeepValue(key) ? stored?.key : encrypt(key);
  if (certificate == null && sealed === undefined && ca == null) return undefined;
  return defined({
    certificate: certificate ?? undefined,
    key: sealed,
    ca: ca ?? undefined,
  });
}

export function tlsView(tls: EndpointTls<Encrypted> | undefined) {
  if (!tls) return null;
  const { certificate = null, key, ca = null } = tls;
  const ends = tlsEnds(tls).certificate;
  // The first certificate of the chain to expire.
  const notAfter = ends.length === 0 ? null : isoTime(Math.min(...ends));
  return { certificate, key: key === undefined ? null : { keep: true as const }, ca, notAfter };
}
