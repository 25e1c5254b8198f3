import { createHash, createHmac } from 'node:crypto';
import { defined } from '../../../collections/defined';
import { AppError, messageOf } from '../../../runtime/errors';
import { type Token } from './bearer-token';

/**
 * Signs tokens for IAM authentication of Amazon MSK: a presigned URL of the action
 * kafka-cluster:Connect (Signature Version 4), in base64url. The AWS SDK finds the credentials
 * (environment, containers, web identity, instance metadata), and is loaded only here.
 */

interface Credentials {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
  expiration?: Date;
}

/** The longest that Amazon MSK accepts. */
const LIFETIME_S = 900;
const SERVICE = 'kafka-cluster';

let credentials: (() => Promise<Credentials>) | undefined;

/**
 * Returns a token with the credentials of this process: from the environment, a role of the pod,
 * task or machine, or the files of the AWS command line.
 * @throws AppError `kafka_unavailable` (retriable) without credentials
 */
export async function mskToken(region: string): Promise<Token> {
  try {
    credentials ??= (await import('@aws-sdk/credential-provider-node')).defaultProvider();
    return signToken(await credentials(), region, new Date());
  } catch (error) {
    throw new AppError(
      'kafka_unavailable',
      `no AWS credentials for Kafka: ${messageOf(error)}`,
      true,
      {
        cause: error,
      },
    );
  }
}

/** Signs a token. It expires with the credentials, if they expire earlier. */
export function signToken({ expiration, ...keys }: Credentials, region: string, now: Date): Token {
  const url = presign({
    ...keys,
    region,
    now,
    service: SERVICE,
    host: `kafka.${region}.amazonaws.com`,
    seconds: LIFETIME_S,
    query: { Action: 'kafka-cluster:Connect' },
  });
  const expiresAt = now.getTime() + LIFETIME_S * 1_000;
  return {
    value: Buffer.from(`${url}&User-Agent=waypost`).toString('base64url'),
    expiresAt: Math.min(expiresAt, expiration?.getTime() ?? Infinity),
  };
}

interface Presigned extends Omit<Credentials, 'expiration'> {
  host: string;
  query: Record<string, string>;
  service: string;
  region: string;
  now: Date;
  /** for how long the URL is valid */
  seconds: number;
}

/** Returns a presigned URL for GET / of a host, without a body (Signature Version 4). */
export function presign(request: Presigned): string {
  const { host, region, service, now, sessionToken } = request;
  const time = now.toISOString().replace(/[-:]|\.\d{3}/g, '');
  const scope = [time.slice(0, 8), region, service, 'aws4_request'];
  const query = canonical({
    ...request.query,
    'X-Amz-Algorithm': 'AWS4-HMAC-SHA256',
    'X-Amz-Credential': [request.accessKeyId, ...scope].join('/'),
    'X-Amz-Date': time,
    'X-Amz-Expires': String(request.seconds),
    ...defined({ 'X-Amz-Security-Token': sessionToken }),
    'X-Amz-SignedHeaders': 'host',
  });
  const asked = ['GET', '/', query, `host:${host}`, '', 'host', sha256('')].join('\n');
  const toSign = ['AWS4-HMAC-SHA256', time, scope.join('/'), sha256(asked)].join('\n');
  const key = scope.reduce<string | Buffer>(
    (secret, part) => hmac(secret, part),
    `AWS4${request.secretAccessKey}`,
  );
  return `https://${host}/?${query}&X-Amz-Signature=${hmac(key, toSign).toString('hex')}`;
}

function canonical(query: Record<string, string>): string {
  const pairs = Object.entries(query).map(([key, value]) => [encode(key), encode(value)] as const);
  pairs.sort(([a], [b]) => (a < b ? -1 : 1));
  return pairs.map((pair) => pair.join('=')).join('&');
}

/** Encodes everything but unreserved characters (RFC 3986). */
function encode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const hmac = (key: string | Buffer, text: string) =>
  createHmac('sha256', key).update(text).digest();
