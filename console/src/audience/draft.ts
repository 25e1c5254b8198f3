import { type Audience, type ComputedTrait, type Operations } from '../../../shared/api/operations';
import { keyOf } from '../../../shared/model/audience-definition';
import { parseDuration } from '../../../shared/model/duration';
import { same } from '../destination/draft';
import { celOf } from './rows-to-cel';
import { emptyGroup, type Group } from './rows';

/** An audience, or a computed trait, while somebody edits it, and what is sent of it. Pure: the forms only show this. */

/** What both have. */
export interface CommonDraft {
  name: string;
  /** null: all */
  sources: string[] | null;
  destinations: string[];
  /** as written */
  syncEvery: string;
}

export interface AudienceDraft extends CommonDraft {
  /** by a condition, or a list from elsewhere */
  by: 'condition' | 'list';
  /** the condition as rows, or as a text where somebody writes it */
  as: 'rows' | 'text';
  rows: Group;
  text: string;
  /** what the rows say that were read from the stored condition, which may be written in another way */
  readAs?: string | undefined;
}

export interface TraitDraft extends CommonDraft {
  compute: ComputedTrait['compute'];
  event: string;
  property: string;
  /** as written; empty: all that is known */
  window: string;
}

export type AudienceBody = Operations['POST /audiences']['body'];
export type AudiencePatch = NonNullable<Operations['PATCH /audiences/{id}']['body']>;
export type TraitBody = Operations['POST /computed-traits']['body'];
export type TraitPatch = NonNullable<Operations['PATCH /computed-traits/{id}']['body']>;

const DAY_MS = 86_400_000;
const SYNC_EVERY = '1m';

function emptyCommon(): CommonDraft {
  return { name: '', sources: null, destinations: [], syncEvery: SYNC_EVERY };
}

export function emptyAudience(by: AudienceDraft['by'] = 'condition'): AudienceDraft {
  return { ...emptyCommon(), by, as: 'rows', rows: emptyGroup(), text: '' };
}

export function emptyTrait(): TraitDraft {
  return { ...emptyCommon(), compute: 'count', event: '', property: '', window: '' };
}

function commonOf({ name, sources, destinations, syncEvery }: Audience | ComputedTrait): CommonDraft {
  return { name, sources: sources && [...sources], destinations: [...destinations], syncEvery };
}

/** @param rows of its condition, where rows can say it */
export function audienceDraftOf(audience: Audience, rows: Group | undefined): AudienceDraft {
  const { condition } = audience;
  return {
    ...commonOf(audience),
    by: condition === null ? 'list' : 'condition',
    as: rows ? 'rows' : 'text',
    rows: rows ?? emptyGroup(),
    text: condition ?? '',
    readAs: rows && celOf(rows),
  };
}

export function traitDraftOf(trait: ComputedTrait): TraitDraft {
  const { compute, event, property, window } = trait;
  return { ...commonOf(trait), compute, event, property: property ?? '', window: window ?? '' };
}

/** @returns the text of it; undefined while something is missing */
export function conditionOf({ as, rows, text }: AudienceDraft): string | undefined {
  if (as === 'rows') return celOf(rows);
  return text.trim() === '' ? undefined : text.trim();
}

/** Another definition, as far as names go. */
export interface Known {
  id: string;
  name: string;
  key: string;
}

export type Naming = { key: string; problem?: undefined } | { key?: string; problem: string | undefined };

/** The trait that receivers will know it by, while its name is typed. @param others those that there are */
export function namingOf(name: string, others: readonly Known[]): Naming {
  if (name.trim() === '') return { problem: undefined };
  const key = keyOf(name.trim());
  if (key === undefined) {
    return { problem: 'It must contain a letter or a digit, and give a trait of at most 100 characters' };
  }
  const taken = others.find((other) => other.key === key);
  return taken ? { key, problem: `It would use the trait ${key}, which “${taken.name}” already uses` } : { key };
}

function commonProblems({ name, sources, syncEvery }: CommonDraft): Map<string, string> {
  const problems = new Map<string, string>();
  if (name.trim() === '') problems.set('name', 'Enter a name');
  if (sources?.length === 0) problems.set('sources', 'Choose at least one');
  if (!within(syncEvery, 1_000, DAY_MS))
    problems.set('syncEvery', 'Enter a duration from 1s to 24h, such as 10s, 1m or 1h');
  return problems;
}

/** What is wrong with it, by field as the API names fields. What a condition says is judged by the API. */
export function audienceProblems(draft: AudienceDraft): Map<string, string> {
  const problems = commonProblems(draft);
  if (draft.by === 'condition' && conditionOf(draft) === undefined) {
    problems.set('condition', draft.as === 'rows' ? 'Complete each condition' : 'Enter a condition');
  }
  return problems;
}

export function traitProblems(draft: TraitDraft): Map<string, string> {
  const problems = commonProblems(draft);
  if (draft.event.trim() === '') problems.set('event', 'Enter an event');
  if (needsProperty(draft.compute) && draft.property.trim() === '') problems.set('property', 'Enter a property');
  if (draft.window.trim() !== '' && !within(draft.window, 1_000, 366 * DAY_MS)) {
    problems.set('window', 'Enter a duration up to 366d, such as 720h or 30d, or leave empty for all time');
  }
  return problems;
}

/** `first` and `last` without one are the time of the event. */
export function needsProperty(compute: TraitDraft['compute']): boolean {
  return compute !== 'count' && compute !== 'first' && compute !== 'last';
}

function within(text: string, leastMs: number, mostMs: number): boolean {
  const ms = parseDuration(text.trim());
  return ms !== undefined && ms >= leastMs && ms <= mostMs;
}

function commonBody({ name, sources, destinations, syncEvery }: CommonDraft) {
  return { name: name.trim(), ...(sources && { sources }), destinations, syncEvery: syncEvery.trim() };
}

export function audienceBody(draft: AudienceDraft): AudienceBody {
  const condition = draft.by === 'condition' ? conditionOf(draft) : undefined;
  return { ...commonBody(draft), ...(condition !== undefined && { condition }) };
}

export function traitBody(draft: TraitDraft): TraitBody {
  const { compute, event, property, window } = draft;
  return {
    ...commonBody(draft),
    ...{ compute, event: event.trim() },
    ...(compute !== 'count' && property.trim() !== '' && { property: property.trim() }),
    ...(window.trim() !== '' && { window: window.trim() }),
  };
}

/** The merge patch from what was read to what was written: only what differs. */
export function audiencePatch(before: Audience, draft: AudienceDraft): AudiencePatch {
  const { condition, ...body } = audienceBody(draft);
  const stands = condition === before.condition || (draft.as === 'rows' && condition === draft.readAs);
  return {
    ...commonPatch(before, body),
    ...(condition !== undefined && !stands && { condition }),
  };
}

export function traitPatch(before: ComputedTrait, draft: TraitDraft): TraitPatch {
  const { compute, event, property = null, window = null, ...body } = traitBody(draft);
  return {
    ...commonPatch(before, body),
    ...(compute !== before.compute && { compute }),
    ...(event !== before.event && { event }),
    ...(property !== before.property && { property }),
    ...(window !== before.window && { window }),
  };
}

function commonPatch(
  before: Audience | ComputedTrait,
  { name, sources, destinations, syncEvery }: Omit<AudienceBody, 'condition'>,
) {
  const sorted = (ids: readonly string[] | null | undefined) => ids && [...ids].sort();
  return {
    ...(name !== before.name && { name }),
    ...(!same(sorted(sources) ?? null, sorted(before.sources)) && { sources: sources ?? null }),
    ...(destinations && !same(sorted(destinations), sorted(before.destinations)) && { destinations }),
    ...(syncEvery !== undefined && syncEvery !== before.syncEvery && { syncEvery }),
  };
}

/** Whether saving it counts all anew, from the beginning. */
export function countsAnew(patch: AudiencePatch | TraitPatch): boolean {
  return ['condition', 'sources', 'compute', 'event', 'property', 'window'].some((field) => field in patch);
}
