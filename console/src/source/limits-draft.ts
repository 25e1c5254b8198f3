import { type Operations, type Source } from '../../../shared/api/operations';

/** The limits of a source as a person edits them. */
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

/** What control cannot say, since a text in place of a number is not sent. */
export function limitsProblems(draft: LimitsDraft): ReadonlyMap<string, string> {
  const wrong = (['maxPerSecond', 'maxBytesPerSecond'] as const).filter((field) => Number.isNaN(Number(draft[field])));
  return new Map(wrong.map((field) => [`limits/${field}`, 'Must be a number']));
}

/** The fields that differ from those of the source that the draft began with: others' changes of the rest stay. */
export function limitsBody(draft: LimitsDraft, begun: Source): Operations['PATCH /sources/{id}']['body'] {
  const before = limitsDraft(begun);
  const number = (text: string) => (text === '' ? null : Number(text));
  const limits = {
    ...(draft.maxPerSecond !== before.maxPerSecond && { maxPerSecond: number(draft.maxPerSecond) }),
    ...(draft.maxBytesPerSecond !== before.maxBytesPerSecond && { maxBytesPerSecond: number(draft.maxBytesPerSecond) }),
    ...(draft.burst !== before.burst && { burst: draft.burst === '' ? null : draft.burst }),
  };
  return {
    ...(Object.keys(limits).length > 0 && { limits }),
    ...(draft.trust !== before.trust && { trust: draft.trust }),
  };
}

/** Whether a source still has the limits that a draft began with. */
export function sameLimits(source: Source, begun: Source): boolean {
  return JSON.stringify(limitsDraft(source)) === JSON.stringify(limitsDraft(begun));
}
