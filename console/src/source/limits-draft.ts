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
  return new Map(wrong.map((field) => [`limits/${field}`, 'A number']));
}

export function limitsBody(draft: LimitsDraft): Operations['PATCH /sources/{id}']['body'] {
  const number = (text: string) => (text === '' ? null : Number(text));
  return {
    limits: {
      maxPerSecond: number(draft.maxPerSecond),
      maxBytesPerSecond: number(draft.maxBytesPerSecond),
      burst: draft.burst === '' ? null : draft.burst,
    },
    trust: draft.trust,
  };
}
