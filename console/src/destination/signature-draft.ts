import { type Destination, type Operations } from '../../../shared/api/operations';
import { checkHeaderName } from '../../../shared/model/webhook-request';
import { changedFields, same } from './field-values';
import { text } from '../texts';

const words = text.signing.signatureDraft;

/** The signatures of a destination while somebody edits them. Pure. */

type Stored = Destination['signature'];
type CustomSignature = NonNullable<NonNullable<Stored>['custom']>;

export interface SignatureDraft {
  xSignature: boolean;
  ed25519: boolean;
  custom: (Omit<CustomSignature, 'prefix'> & { prefix: string }) | null;
}

export const DEFAULT_SIGNATURE: SignatureDraft = { xSignature: true, ed25519: false, custom: null };

/** Signatures that receivers written for these products check. */
const KNOWN_SIGNATURES = {
  github: {
    header: 'X-Hub-Signature-256',
    algorithm: 'sha256',
    encoding: 'hex',
    prefix: 'sha256=',
  },
  shopify: { header: 'X-Shopify-Hmac-Sha256', algorithm: 'sha256', encoding: 'base64', prefix: '' },
} as const satisfies Record<string, SignatureDraft['custom']>;

export type KnownSignature = keyof typeof KNOWN_SIGNATURES;
const OTHER: NonNullable<SignatureDraft['custom']> = {
  header: '',
  algorithm: 'sha256',
  encoding: 'hex',
  prefix: '',
};

/** Returns the name of the product whose signature this is, `other`, or `none`. */
export function kindOf({ custom }: SignatureDraft): KnownSignature | 'other' | 'none' {
  if (!custom) return 'none';
  const known = Object.entries(KNOWN_SIGNATURES).find(
    ([, each]) => changed(each, custom).length === 0,
  );
  return (known?.[0] as KnownSignature | undefined) ?? 'other';
}

function changed(a: object, b: object): string[] {
  return Object.keys(changedFields(a, b));
}

/**
 * Returns the draft with the signature of a product. `other` keeps the present values, for editing.
 */
export function withKind(draft: SignatureDraft, kind: string): SignatureDraft {
  if (kind === 'none') return { ...draft, custom: null };
  if (kind === 'other') return { ...draft, custom: { ...(draft.custom ?? OTHER), header: '' } };
  return { ...draft, custom: KNOWN_SIGNATURES[kind as KnownSignature] };
}

export function signatureDraft(signature: Stored): SignatureDraft {
  if (!signature) return DEFAULT_SIGNATURE;
  const { xSignature, ed25519, custom } = signature;
  return { xSignature, ed25519, custom: custom && { ...custom, prefix: custom.prefix ?? '' } };
}

function wholeSignature({ custom, ...rest }: SignatureDraft) {
  return {
    ...rest,
    custom: custom && { ...custom, prefix: custom.prefix === '' ? null : custom.prefix },
  };
}

type SignaturePatch = NonNullable<Operations['PATCH /destinations/{id}']['body']>['signature'];

/** Returns the merge patch of `signature`; undefined if nothing was changed. */
export function signaturePatch(before: Stored, draft: SignatureDraft): SignaturePatch {
  const old = signatureDraft(before);
  return same(old, draft) ? undefined : changedFields(wholeSignature(old), wholeSignature(draft));
}

/** Returns the `signature` of a new destination; undefined for the default. */
export function signatureOf(draft: SignatureDraft) {
  return same(draft, DEFAULT_SIGNATURE) ? undefined : wholeSignature(draft);
}

export function signatureProblems({ custom }: SignatureDraft): [string, string][] {
  if (!custom) return [];
  const problem = custom.header === '' ? words.enterName : headerProblem(custom.header);
  return problem === undefined ? [] : [['signature/custom/header', problem]];
}

function headerProblem(name: string): string | undefined {
  const problem = name.toLowerCase() === 'x-signature' ? undefined : checkHeaderName(name);
  return problem === undefined ? undefined : words.problem(problem);
}
