import { isIP } from 'node:net';
import { z } from 'zod';
import ipaddr from 'ipaddr.js';
import { readProxyUrl } from '../model/proxy-url';
import { parseDuration } from '../model/time';
import { readFingerprint } from './distrusted-roots';

/**
 * The types of settings: each parses the text of an environment variable, or says what is wrong
 * with it.
 */

/** A duration in ms. @param text the default */
export const duration = (text: string) => durationFrom(text, 1);
/** A duration in ms, or 0. @param text the default */
export const durationOrZero = (text: string) => durationFrom(text, 0);

const durationFrom = (text: string, leastMs: number) =>
  z
    .string()
    .default(text)
    .transform((value, ctx) => {
      const ms = parseDuration(value);
      if (ms === undefined || ms < leastMs) {
        ctx.addIssue({
          code: 'custom',
          message: `must be a duration such as 500ms, 5s, 10m or 4h, not "${value}"`,
        });
        return z.NEVER;
      }
      return ms;
    });

/** A whole number within these limits. */
export const integer = (min: number, max: number) =>
  z.string().transform((value, ctx) => {
    const number = /^\d{1,9}$/.test(value) ? Number(value) : NaN;
    if (!(number >= min && number <= max)) {
      ctx.addIssue({
        code: 'custom',
        message: `must be a whole number from ${String(min)} to ${String(max)}, not "${value}"`,
      });
      return z.NEVER;
    }
    return number;
  });

/** @param value the default */
export const port = (value: number) => integer(0, 65_535).default(value);

/** Texts separated by commas. */
export const list = z.string().transform((value) =>
  value
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== ''),
);

export const flag = z
  .enum(['true', 'false'], { error: 'must be true or false' })
  .transform((value) => value === 'true');

export const retryDelays = list.transform((parts, ctx) => {
  const ms = parts.map(parseDuration);
  const bad = parts.filter((_, i) => !ms[i]);
  if (bad.length > 0 || parts.length === 0 || parts.length > 16) {
    ctx.addIssue({
      code: 'custom',
      message:
        'must be 1 to 16 durations such as ' +
        `10s,1m,5m${bad.length > 0 ? `; these are not: ${bad.join(', ')}` : ''}`,
    });
    return z.NEVER;
  }
  return ms as number[];
});

export const networks = list.transform((parts, ctx) => {
  const bad = parts.filter((part) => !ipaddr.isValidCIDR(part));
  if (bad.length > 0) {
    ctx.addIssue({
      code: 'custom',
      message: `must be networks such as 10.1.0.0/16 or fd00::/8, not ${bad.join(', ')}`,
    });
  }
  return parts;
});

/** SHA-256 fingerprints of certificates. */
export const fingerprints = list.transform((parts, ctx) => {
  const bad = parts.filter((part) => readFingerprint(part) === undefined);
  if (bad.length > 0) {
    ctx.addIssue({
      code: 'custom',
      message: `must be SHA-256 fingerprints of 64 hexadecimal digits, not ${bad.join(', ')}`,
    });
  }
  return parts.flatMap((part) => readFingerprint(part) ?? []);
});

/** Ports and ranges of ports: `80,443,1024-65535`. Empty: all. */
export const ports = list.transform((parts, ctx) => {
  const ranges = parts.map(
    (part) => /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(part)?.slice(1).map(Number) ?? [],
  );
  const read = ranges.map(([from = 0, to = NaN]): [number, number] => [
    from,
    Number.isNaN(to) ? from : to,
  ]);
  const bad = parts.filter((_, i) => !isPortRange(read[i]));
  if (bad.length > 0) {
    ctx.addIssue({
      code: 'custom',
      message: `must be ports and ranges such as 80,443,1024-65535, not ${bad.join(', ')}`,
    });
  }
  return read;
});

function isPortRange([from, to]: [number, number] = [0, 0]): boolean {
  return from >= 1 && from <= to && to <= 65_535;
}

/**
 * The URL of an egress proxy. The message never repeats the value, because it may hold a password.
 */
export const proxyUrl = z.string().transform((text, ctx) => {
  const read = readProxyUrl(text);
  if (typeof read !== 'string') return read;
  ctx.addIssue({ code: 'custom', message: read });
  return z.NEVER;
});

/**
 * The URL of a mail server. A password goes over TLS only: `tls=off` excludes one. The message
 * never repeats the value, because it may hold a password.
 */
export const smtpUrl = z
  .url({
    protocol: /^smtps?$/,
    error: 'must be an address such as smtps://user:password@mail.example.com',
  })
  .superRefine((text, ctx) => {
    const message = URL.canParse(text) ? tlsProblem(new URL(text)) : undefined;
    if (message !== undefined) ctx.addIssue({ code: 'custom', message });
  });

function tlsProblem({ protocol, username, password, searchParams }: URL): string | undefined {
  const tls = searchParams.get('tls');
  if (tls === null) return undefined;
  if (tls !== 'off') return 'tls must be off or absent, and if it is absent, TLS is used';
  if (protocol === 'smtps:') return 'tls=off contradicts smtps://, which is TLS from the start';
  if (username || password) {
    return 'tls=off excludes a password, which would cross the network in clear text';
  }
  return undefined;
}

/**
 * `10.0.0.2`, `10.0.0.2:5353`, `fd00::2`, `[fd00::2]:5353`: an address, and a port other than 53.
 */
const DNS_SERVER = /^(?:\[(?<six>[^\]]+)\]|(?<four>[\d.]+)):(?<port>\d{1,5})$/;
export const dnsServers = list.transform((parts, ctx) => {
  const bad = parts.filter((part) => {
    const { six, four, port: at = '53' } = DNS_SERVER.exec(part)?.groups ?? {};
    // Node does not refuse other ports: it uses another one, or aborts.
    return isIP(six ?? four ?? part) === 0 || !(Number(at) >= 1 && Number(at) <= 65_535);
  });
  if (bad.length > 0) {
    ctx.addIssue({
      code: 'custom',
      message:
        'must be addresses such as 10.0.0.2, 10.0.0.2:5353 or [fd00::2]:5353, not ' +
        bad.join(', '),
    });
  }
  return parts;
});

export const secretKeys = list.transform((parts, ctx) => {
  const keys = parts.map((part) => Buffer.from(part, 'base64'));
  // The message never repeats the value, because it is a secret.
  if (keys.length === 0 || keys.some((key) => key.length !== 32)) {
    ctx.addIssue({
      code: 'custom',
      message: 'must be one or more keys of 32 bytes in base64, separated by commas',
    });
  }
  return keys;
});

/** `key=value` pairs, separated by commas, as RFC 7628 allows them beside a bearer token. */
export const extensions = list.transform((parts, ctx) => {
  const pairs = parts.map(
    (part) => /^(?<key>[A-Za-z]+)=(?<value>[\x21-\x7e]+)$/.exec(part)?.groups ?? {},
  );
  if (pairs.some(({ key }) => key === undefined || key === 'auth')) {
    ctx.addIssue({
      code: 'custom',
      message: 'must be pairs such as logicalCluster=lkc-1,identityPoolId=pool-1',
    });
    return z.NEVER;
  }
  return Object.fromEntries(pairs.map(({ key = '', value = '' }) => [key, value]));
});
