import { z } from 'zod';
import { type Encryptor } from '../../../shared/config/encryption';
import { type Destination, type EncryptedSecrets } from '../../../shared/model/config';
import { pointer, Problem } from '../http/problem';
import { sharedSecret } from './schema';
import { invalidFields, overlap, parseBody } from '../http/fields';

/**
 * Rotation of a shared secret. For the overlap both secrets sign `webhook-signature`; `X-Signature` has room for one
 * and changes at `switchAt`, which is the end of the overlap where nothing else is said.
 */

export const rotateSecretSchema = z.strictObject({
  sharedSecret: sharedSecret.optional(),
  overlap,
  switchAt: z.iso
    .datetime({ offset: true, error: 'must be a time such as 2026-01-31T12:00:00Z' })
    .optional()
    .meta({ description: 'When X-Signature switches to the new secret. Default: at the end of the overlap' }),
});

/** The secrets without what is over. */
export function secretsNow(secrets: EncryptedSecrets | undefined, now: Date): EncryptedSecrets | undefined {
  if (!secrets?.previous || now.getTime() < (secrets.overlapUntil ?? 0)) return secrets;
  return { current: secrets.current };
}

export interface Rotated {
  destination: Destination;
  /** the new secret where it was made here: to be shown this once */
  generated: string | undefined;
}

/**
 * @param made.secret a new random secret, for where the body gives none
 * @throws Problem `invalid_fields`, or `conflict` while another rotation overlaps: a third secret would have no room,
 *   and who still checks the first would be cut off unasked
 */
export function rotateSecret(
  destination: Destination,
  body: unknown,
  made: { secret: string; now: Date; encryptor: Encryptor },
): Rotated {
  const { now, encryptor } = made;
  const fields = parseBody(rotateSecretSchema, body);
  const before = secretsNow(destination.secrets, now);
  if (before?.previous && fields.overlap > 0) {
    throw new Problem(
      'conflict',
      `A rotation is in progress until ${new Date(before.overlapUntil ?? 0).toISOString()}. Wait, or end it with an overlap of 0s`,
    );
  }
  const overlapUntil = now.getTime() + fields.overlap;
  const switchAt = fields.switchAt === undefined ? overlapUntil : Date.parse(fields.switchAt);
  if (switchAt > overlapUntil) {
    const detail = 'must not be after the end of the overlap, when the old secret expires';
    throw invalidFields([{ pointer: pointer(['switchAt']), detail }]);
  }
  const current = encryptor.encrypt(fields.sharedSecret ?? made.secret, destination.id);
  const secrets: EncryptedSecrets =
    before && fields.overlap > 0 ? { current, previous: before.current, overlapUntil, switchAt } : { current };
  return {
    destination: { ...destination, secrets, updatedAt: now.toISOString() },
    generated: fields.sharedSecret === undefined ? made.secret : undefined,
  };
}
