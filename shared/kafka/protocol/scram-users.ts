import { pbkdf2Sync, randomBytes } from 'node:crypto';
import { ByteReader, ByteWriter } from './bytes';

/**
 * The request that creates SCRAM users or changes their passwords (AlterUserScramCredentials,
 * version 0), which kafkajs lacks. The broker gets a salted hash, not the password.
 */

const MECHANISMS = {
  'scram-sha-256': { id: 1, hash: 'sha256', bytes: 32 },
  'scram-sha-512': { id: 2, hash: 'sha512', bytes: 64 },
};
export type ScramMechanism = keyof typeof MECHANISMS;

/** Twice the least that Kafka accepts. */
const ITERATIONS = 8_192;
const SALT_BYTES = 24;

/** @param users passwords by user name */
export function scramUsersRequest(mechanism: ScramMechanism, users: ReadonlyMap<string, string>) {
  return {
    apiKey: 51,
    apiVersion: 0,
    apiName: 'AlterUserScramCredentials',
    encode: () => {
      const buffer = encode(mechanism, users);
      return Promise.resolve({ buf: buffer, buffer });
    },
  };
}

function encode(mechanism: ScramMechanism, users: ReadonlyMap<string, string>): Buffer {
  const { id, hash, bytes } = MECHANISMS[mechanism];
  const writer = new ByteWriter();
  // Tagged fields of the header, which kafkajs does not write.
  writer.int8(0);
  writer.int8(1); // no deletions
  compactLength(writer, users.size);
  for (const [name, password] of users) {
    const salt = randomBytes(SALT_BYTES);
    compact(writer, Buffer.from(name));
    writer.int8(id);
    writer.int32(ITERATIONS);
    compact(writer, salt);
    compact(writer, pbkdf2Sync(password, salt, ITERATIONS, bytes, hash));
    writer.int8(0); // tagged fields of the user
  }
  writer.int8(0); // tagged fields of the request
  return writer.take();
}

function compact(writer: ByteWriter, bytes: Buffer): void {
  compactLength(writer, bytes.length);
  writer.raw(bytes, bytes.length);
}

/** Writes a length plus one as an unsigned varint; shorter than 16,383. */
function compactLength(writer: ByteWriter, length: number): void {
  const value = length + 1;
  if (value > 0x7f) writer.int8((value & 0x7f) - 0x80);
  writer.int8(value > 0x7f ? value >> 7 : value);
}

/** Throws the first error of the response. */
export const scramUsersResponse = {
  decode: (raw: Buffer) => {
    const reader = new ByteReader(raw, 1); // after the tagged fields of the header
    const clientSideThrottleTime = reader.int32();
    const results: { user: string; errorCode: number; reason: string }[] = [];
    for (let left = unsigned(reader) - 1; left > 0; left--) {
      results.push({ user: text(reader), errorCode: reader.int16(), reason: text(reader) });
      reader.int8();
    }
    return Promise.resolve({ clientSideThrottleTime, results });
  },
  parse: (data: unknown) => {
    const { results } = data as { results: { user: string; errorCode: number; reason: string }[] };
    const failed = results.find(({ errorCode }) => errorCode !== 0);
    if (!failed) return Promise.resolve(data);
    return Promise.reject(
      new Error(`user ${failed.user}: ${failed.reason || `error ${failed.errorCode}`}`),
    );
  },
};

function text(reader: ByteReader): string {
  const size = Math.max(0, unsigned(reader) - 1);
  return reader.buffer.toString('utf8', reader.at, (reader.at += size));
}

function unsigned(reader: ByteReader): number {
  let value = 0;
  for (let shift = 0; ; shift += 7) {
    const byte = reader.int8();
    value |= (byte & 0x7f) << shift;
    if (byte >= 0) return value;
  }
}
