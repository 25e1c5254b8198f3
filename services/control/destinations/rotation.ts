import { type z } from 'zod';
import { rotateSecretBody } from '../../../shared/api/webhooks';
import { type Encryptor } from '../../../shared/config/encryption';
import {
  type Destination,
  type EncryptedSecrets,
  GENERATE_SECRET,
} from '../../../shared/model/config';
import { secretFields } from '../../../shared/model/secret-fields';
import { isoTime } from '../../../shared/model/time';
import { errorAt, Problem } from '../http/problem';
import { invalidFields, parseBody } from '../http/validate';
import { rotateEd25519 } from './signature';

/** Rotates the secrets that sign. Pure except for the randomness of keys and encryption. */

/** Returns the secrets without expired ones. */
export function secretsNow(
  secrets: EncryptedSecrets | undefined,
  now: Date,
): EncryptedSecrets | undefined {
  if (!secrets?.previous || now.getTime() < (secrets.overlapUntil ?? 0)) return secrets;
  return { current: secrets.current };
}

export interface Rotated {
  destination: Destination;
  /** the new secret if Waypost generated it; shown only once */
  generated: string | undefined;
}

/**
 * Rotates a shared secret. During the overlap both secrets sign `webhook-signature`. `X-Signature`
 * holds one signature, and changes at `switchAt`, by default the end of the overlap.
 * @param made.secret a new random secret, used if the body contains none
 * @throws Problem `invalid_fields`, or `conflict` during the overlap of another rotation: there is
 * no room for a third secret, and receivers that still use the first would be cut off without
 * notice
 */
export function rotateSecret(
  destination: Destination,
  body: unknown,
  made: { secret: string; now: Date; encryptor: Encryptor },
): Rotated {
  const { now, encryptor } = made;
  const fields = parseBody(rotateSecretBody, body);
  if (fields.key === 'ed25519') {
    return { destination: rotateKeyPair(destination, fields, made), generated: undefined };
  }
  const before = secretsNow(destination.secrets, now);
  if (before?.previous && fields.overlap > 0) {
    throw new Problem(
      'conflict',
      'A rotation is in progress until ' +
        `${isoTime(before.overlapUntil ?? 0)}. Wait, or end it with an ` +
        'overlap of 0s',
    );
  }
  const overlapUntil = now.getTime() + fields.overlap;
  const switchAt = fields.switchAt === undefined ? overlapUntil : Date.parse(fields.switchAt);
  if (switchAt > overlapUntil) {
    const detail = 'must not be after the end of the overlap, when the old secret expires';
    throw invalidFields([errorAt(['switchAt'], detail)]);
  }
  const given = fields.sharedSecret === GENERATE_SECRET ? undefined : fields.sharedSecret;
  const current = encryptor.encrypt(
    given ?? made.secret,
    secretFields.sharedSecret(destination.id),
  );
  const secrets: EncryptedSecrets =
    before && fields.overlap > 0
      ? { current, previous: before.current, overlapUntil, switchAt }
      : { current };
  return {
    destination: { ...destination, secrets, updatedAt: now.toISOString() },
    generated: given === undefined ? made.secret : undefined,
  };
}

/** @throws Problem as `rotateEd25519`; `invalid_fields` for a field of the other secret */
function rotateKeyPair(
  destination: Destination,
  fields: z.output<typeof rotateSecretBody>,
  { now, encryptor }: { now: Date; encryptor: Encryptor },
): Destination {
  const wrong = (['sharedSecret', 'switchAt'] as const).filter(
    (field) => fields[field] !== undefined,
  );
  const detail = 'belongs to the shared secret, not to the Ed25519 key';
  if (wrong.length > 0) {
    throw invalidFields(wrong.map((field) => errorAt([field], detail)));
  }
  const field = secretFields.ed25519(destination.id);
  const encrypt = (key: string) => encryptor.encrypt(key, field);
  return rotateEd25519(destination, fields.overlap, { now, encrypt });
}

/**
 * Returns the API view of the shared secrets, which are never shown: whether there are any, and a
 * running rotation.
 */
export function secretsView(stored: Destination['secrets'], now: Date) {
  const secrets = secretsNow(stored, now);
  return {
    hasSharedSecret: secrets !== undefined,
    secretRotation: secrets?.previous
      ? {
          overlapUntil: isoTime(secrets.overlapUntil ?? 0),
          switchAt: isoTime(secrets.switchAt ?? secrets.overlapUntil ?? 0),
        }
      : null,
  };
}
