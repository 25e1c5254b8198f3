import { type Operations, type Source } from '../../../shared/api/operations';
import { defined } from '../../../shared/collections/defined';
import { text } from '../texts';

const words = text.source.limitsDraft;

/** The limits of a source while somebody edits them. */
export interface LimitsDraft {
  maxPerSecond: string;
  maxBytesPerSecond: string;
  burst: string;
  trust: Source['trust'];
}

export function limitsDraft({ limits, trust }: Source): LimitsDraft {
  return {
    maxPerSecond: String(limits?.maxPerSecond ?? ''),
    maxBytesPerSecond: String(limits?.maxBytesPerSecond ?? ''),
    burst: limits?.burst ?? '',
    trust,
  };
}

/** Validates what control cannot: the page does not send a text in place of a number. */
export function limitsProblems(draft: LimitsDraft): ReadonlyMap<string, string> {
  const wrong = (['maxPerSecond', 'maxBytesPerSecond'] as const).filter((field) =>
    Number.isNaN(Number(draft[field])),
  );
  return new Map(wrong.map((field) => [`limits/${field}`, words.notANumber]));
}

/**
 * Returns the fields that differ from the source at the start of the edit, so that changes by
 * others stay.
 */
export function limitsBody(
  draft: LimitsDraft,
  begun: Source,
): Operations['PATCH /sources/{id}']['body'] {
  const before = limitsDraft(begun);
  const number = (text: string) => (text === '' ? null : Number(text));
  const limits = defined({
    maxPerSecond:
      draft.maxPerSecond !== before.maxPerSecond ? number(draft.maxPerSecond) : undefined,
    maxBytesPerSecond:
      draft.maxBytesPerSecond !== before.maxBytesPerSecond
        ? number(draft.maxBytesPerSecond)
        : undefined,
    burst: draft.burst !== before.burst ? (draft.burst === '' ? null : draft.burst) : undefined,
  });
  return defined({
    limits: Object.keys(limits).length > 0 ? limits : undefined,
    trust: draft.trust !== before.trust ? draft.trust : undefined,
  });
}

/** Returns whether a source still has the limits from the start of the edit. */
export function sameLimits(source: Source, begun: Source): boolean {
  return JSON.stringify(limitsDraft(source)) === JSON.stringify(limitsDraft(begun));
}
