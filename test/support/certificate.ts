import { generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import { isIPv4 } from 'node:net';

/**
 * Creates X.509 certificates for tests of TLS, without openssl and without keys in the repository:
 * self-signed, signed by a test authority, expired, or for another host. The DER encoding (RFC
 * 5280) is written by hand, which is short for the few fields needed.
 */
export interface Certificate {
  /** PEM */
  cert: string;
  /** PEM */
  key: string;
}

export interface CertificateOptions {
  /** DNS names and IPv4 addresses (default localhost and 127.0.0.1) */
  hosts?: string[];
  /** default an hour ago */
  notBefore?: Date;
  /** default in a day */
  notAfter?: Date;
  /** the signing authority; absent: self-signed */
  issuer?: Certificate & { name: string };
  /** an authority may sign other certificates (default false) */
  authority?: boolean;
  name?: string;
  /** its key is one of RSA; needs an `issuer` */
  rsa?: boolean;
}

const HOUR_MS = 3_600_000;

export function makeCertificate(options: CertificateOptions = {}): Certificate & { name: string } {
  const { publicKey, privateKey } = options.rsa
    ? generateKeyPairSync('rsa', { modulusLength: 2_048 })
    : generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const name = options.name ?? 'waypost test';
  const body = toBeSigned(options, name, publicKey);
  const signature = sign('sha256', body, options.issuer?.key ?? key);
  const der = sequence(body, ECDSA_WITH_SHA256, bitString(signature));
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return {
    name,
    key,
    cert: `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`,
  };
}

function toBeSigned(options: CertificateOptions, name: string, publicKey: KeyObject): Buffer {
  const now = Date.now();
  const { hosts = ['localhost', '127.0.0.1'], authority = false } = options;
  const { notBefore = new Date(now - HOUR_MS), notAfter = new Date(now + 24 * HOUR_MS) } = options;
  return sequence(
    explicit(0, integer(2)), // version 3
    integer(now),
    ECDSA_WITH_SHA256,
    distinguishedName(options.issuer?.name ?? name),
    sequence(generalizedTime(notBefore), generalizedTime(notAfter)),
    distinguishedName(name),
    publicKey.export({ type: 'spki', format: 'der' }),
    explicit(3, sequence(alternativeNames(hosts), basicConstraints(authority))),
  );
}

const der = (tag: number, ...parts: Buffer[]): Buffer => {
  const content = Buffer.concat(parts);
  const n = content.length;
  const length = n < 128 ? [n] : n < 256 ? [0x81, n] : [0x82, n >> 8, n & 0xff];
  return Buffer.concat([Buffer.from([tag, ...length]), content]);
};
const sequence = (...parts: Buffer[]) => der(0x30, ...parts);
const explicit = (n: number, content: Buffer) => der(0xa0 + n, content);
const oid = (hex: string) => der(0x06, Buffer.from(hex, 'hex'));
const octetString = (content: Buffer) => der(0x04, content);
const bitString = (content: Buffer) => der(0x03, Buffer.from([0]), content);
const bool = (value: boolean) => der(0x01, Buffer.from([value ? 0xff : 0]));
/** Positive: a leading zero keeps the sign bit clear. */
const integer = (value: number) => {
  const hex = value.toString(16);
  const bytes = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex');
  return der(0x02, bytes[0]! > 0x7f ? Buffer.concat([Buffer.from([0]), bytes]) : bytes);
};
/** 2026-11-21T12:00:00.000Z → 20261121120000Z */
const generalizedTime = (date: Date) =>
  der(0x18, Buffer.from(`${date.toISOString().slice(0, 19).replace(/[-T:]/g, '')}Z`));

const ECDSA_WITH_SHA256 = sequence(oid('2a8648ce3d040302'));
const COMMON_NAME = oid('550403');
const SUBJECT_ALT_NAME = oid('551d11');
const BASIC_CONSTRAINTS = oid('551d13');

const distinguishedName = (name: string) =>
  sequence(der(0x31, sequence(COMMON_NAME, der(0x0c, Buffer.from(name, 'utf8')))));

const alternativeNames = (hosts: string[]) =>
  sequence(
    SUBJECT_ALT_NAME,
    octetString(
      sequence(
        ...hosts.map((host) =>
          isIPv4(host)
            ? der(0x87, Buffer.from(host.split('.').map(Number)))
            : der(0x82, Buffer.from(host, 'ascii')),
        ),
      ),
    ),
  );

const basicConstraints = (authority: boolean) =>
  sequence(
    BASIC_CONSTRAINTS,
    bool(true),
    octetString(authority ? sequence(bool(true)) : sequence()),
  );
