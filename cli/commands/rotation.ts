import { type Operations } from '../../shared/api/operations';
import { defined } from '../../shared/collections/defined';
import { type Session } from '../command';
import { counted } from '../confirm';
import { readSecretFile } from '../secret-input';
import { usage } from '../process-context';

/** Rotates the shared secret of a destination or of the alerts. */

type Body = Operations['POST /destinations/{id}/rotate-secret']['body'];
type Rotated = Pick<
  Operations['POST /destinations/{id}/rotate-secret']['response'],
  'sharedSecret' | 'secretRotation'
>;

export interface RotationOptions {
  secretFile?: string;
  overlap?: string;
  switchAt?: string;
}

export const ROTATION_OPTIONS: [string, string][] = [
  ['--secret-file <file>', 'the new secret; - for standard input'],
  ['--overlap <duration>', 'how long both sign webhook-signature (default 24h)'],
  [
    '--switch-at <time>',
    'when X-Signature switches to the new secret (default: end of the overlap)',
  ],
];

/** @throws CliError */
export async function rotationOf({ world }: Session, options: RotationOptions): Promise<Body> {
  const { secretFile, overlap, switchAt } = options;
  if (switchAt !== undefined && Number.isNaN(Date.parse(switchAt))) {
    throw usage(`--switch-at must be a time such as 2026-12-01T10:00:00Z, not "${switchAt}".`);
  }
  return defined({
    sharedSecret: secretFile !== undefined ? await readSecretFile(world, secretFile) : undefined,
    overlap,
    switchAt,
  });
}

/** Says who must learn a new secret, for the question before a rotation. */
export function receiversOf(
  urls: readonly unknown[],
  { overlap = '24h' }: Pick<RotationOptions, 'overlap'>,
): string {
  return (
    `Whoever receives at ${urls.length === 1 ? 'its URL' : `its ${counted(urls.length, 'URL')}`} ` +
    `needs the new one: the old one ends after ${overlap}.`
  );
}

/** @param isKeyPair the Ed25519 key was rotated, which receivers fetch */
export function showRotated({ world, print }: Session, rotated: Rotated, isKeyPair = false): void {
  if (print.json) {
    print.thing(rotated, []);
    return;
  }
  if (isKeyPair) {
    print.note(
      'The Ed25519 key was rotated. See waypost destinations public-keys for the keys that ' +
        'sign now.',
    );
    return;
  }
  // The only line on standard output, so that it can be redirected to a file.
  if (rotated.sharedSecret !== undefined) world.out(`${rotated.sharedSecret}\n`);
  const until = rotated.secretRotation?.overlapUntil;
  print.note(
    until
      ? `Both secrets sign webhook-signature until ${until}.`
      : 'The old secret no longer signs.',
  );
}
