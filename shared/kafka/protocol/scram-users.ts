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
  writer.noTags();
  writer.compactArray([], () => undefined); // no deletions
  writer.compactArray([...users], ([name, password]) => {
    const salt = randomBytes(SALT_BYTES);
    writer.compact(name);
    writer.int8(id);
    writer.int32(ITERATIONS);
    writer.compact(salt);
    writer.compact(pbkdf2Sync(password, salt, ITERATIONS, bytes, hash));
    writer.noTags();
  });
  writer.noTags();
  return writer.take();
}

/** Throws the first error of the response. */
export const scramUsersResponse = {
  decode: (raw: Buffer) => {
    const reader = new ByteReader(raw, 1); // after the tagged fields of the header
    const clientSideThrottleTime = reader.int32();
    const results = reader.compactArray(() => {
      const user = reader.compactString();
      const errorCode = reader.int16();
      const reason = reader.compactString();
      reader.skipTags();
      return { user, errorCode, reason };
    });
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
