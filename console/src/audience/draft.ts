import { type Audience, type ComputedTrait, type Operations } from '../../../shared/api/operations';
import { defined } from '../../../shared/collections/defined';
import { keyOf } from '../../../shared/model/audience-definition';
import { parseDuration } from '../../../shared/model/time';
import { same } from '../destination/field-values';
import { celOf } from './rows-to-cel';
import { emptyGroup, type Group } from './rows';
import { text } from '../texts';

const words = text.audience.draft;

/**
 * An audience or computed trait while somebody edits it, and the request to send. Pure: the forms
 * only show it.
 */

/** The fields of both. */
export interface CommonDraft {
  name: string;
  /** null: all */
  sources: string[] | null;
  destinations: string[];
  /** as entered */
  syncEvery: string;
}

export interface AudienceDraft extends CommonDraft {
  /** computed from a condition, or an uploaded list */
  by: 'condition' | 'list';
  /** the condition as rows, or as text that somebody edits */
  as: 'rows' | 'text';
  rows: Group;
  text: string;
  /**
   * the text of the rows when they were read from the stored condition, which may be written
   * differently
   */
  readAs?: string | undefined;
}

export interface TraitDraft extends CommonDraft {
  compute: ComputedTrait['compute'];
  event: string;
  property: string;
  /** as entered; empty: all known events */
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

function commonOf({
  name,
  sources,
  destinations,
  syncEvery,
}: Audience | ComputedTrait): CommonDraft {
  return { name, sources: sources && [...sources], destinations: [...destinations], syncEvery };
}

/** @param rows the rows of its condition; undefined if rows cannot represent it */
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

/** @returns its text; undefined while a field is missing */
export function conditionOf({ as, rows, text }: AudienceDraft): string | undefined {
  if (as === 'rows') return celOf(rows);
  return text.trim() === '' ? undefined : text.trim();
}

/** The names of another definition. */
export interface KnownDefinition {
  id: string;
  name: string;
  key: string;
}

export type Naming =
  { key: string; problem?: undefined } | { key?: string; problem: string | undefined };

/**
 * Returns the name of the trait in webhooks, while somebody types the audience's name.
 * @param others existing definitions
 */
export function namingOf(name: string, others: readonly KnownDefinition[]): Naming {
  if (name.trim() === '') return { problem: undefined };
  const key = keyOf(name.trim());
  if (key === undefined) {
    return { problem: words.nameWithoutKey };
  }
  const taken = others.find((other) => other.key === key);
  return taken ? { key, problem: words.traitTaken(key, taken.name) } : { key };
}

function commonProblems({ name, sources, syncEvery }: CommonDraft): Map<string, string> {
  const problems = new Map<string, string>();
  if (name.trim() === '') problems.set('name', words.enterName);
  if (sources?.length === 0) problems.set('sources', words.chooseOne);
  if (!within(syncEvery, 1_000, DAY_MS)) problems.set('syncEvery', words.syncEveryProblem);
  return problems;
}

/** Validates the draft. Returns a sentence by API field. The API validates the condition. */
export function audienceProblems(draft: AudienceDraft): Map<string, string> {
  const problems = commonProblems(draft);
  if (draft.by === 'condition' && conditionOf(draft) === undefined) {
    problems.set(
      'condition',
      draft.as === 'rows' ? words.completeConditions : words.enterCondition,
    );
  }
  return problems;
}

export function traitProblems(draft: TraitDraft): Map<string, string> {
  const problems = commonProblems(draft);
  if (draft.event.trim() === '') problems.set('event', words.enterEvent);
  if (needsProperty(draft.compute) && draft.property.trim() === '') {
    problems.set('property', words.enterProperty);
  }
  if (draft.window.trim() !== '' && !within(draft.window, 1_000, 366 * DAY_MS)) {
    problems.set('window', words.windowProblem);
  }
  return problems;
}

/** Without a property, `first` and `last` return the time of the event. */
export function needsProperty(compute: TraitDraft['compute']): boolean {
  return compute !== 'count' && compute !== 'first' && compute !== 'last';
}

function within(text: string, leastMs: number, mostMs: number): boolean {
  const ms = parseDuration(text.trim());
  return ms !== undefined && ms >= leastMs && ms <= mostMs;
}

function commonBody({ name, sources, destinations, syncEvery }: CommonDraft) {
  return {
    name: name.trim(),
    ...defined({ sources: sources || undefined }),
    destinations,
    syncEvery: syncEvery.trim(),
  };
}

export function audienceBody(draft: AudienceDraft): AudienceBody {
  const condition = draft.by === 'condition' ? conditionOf(draft) : undefined;
  return {
    ...commonBody(draft),
    ...defined({ condition }),
  };
}

export function traitBody(draft: TraitDraft): TraitBody {
  const { compute, event, property, window } = draft;
  return {
    ...commonBody(draft),
    compute,
    event: event.trim(),
    ...defined({
      property: compute !== 'count' && property.trim() !== '' ? property.trim() : undefined,
      window: window.trim() !== '' ? window.trim() : undefined,
    }),
  };
}

/** Returns the merge patch from the stored entry to the draft: only changed fields. */
export function audiencePatch(before: Audience, draft: AudienceDraft): AudiencePatch {
  const { condition, ...body } = audienceBody(draft);
  const stands =
    condition === before.condition || (draft.as === 'rows' && condition === draft.readAs);
  return {
    ...commonPatch(before, body),
    ...defined({ condition: condition !== undefined && !stands ? condition : undefined }),
  };
}

export function traitPatch(before: ComputedTrait, draft: TraitDraft): TraitPatch {
  const { compute, event, property = null, window = null, ...body } = traitBody(draft);
  return {
    ...commonPatch(before, body),
    ...defined({
      compute: compute !== before.compute ? compute : undefined,
      event: event !== before.event ? event : undefined,
      property: property !== before.property ? property : undefined,
      window: window !== before.window ? window : undefined,
    }),
  };
}

function commonPatch(
  before: Audience | ComputedTrait,
  { name, sources, destinations, syncEvery }: Omit<AudienceBody, 'condition'>,
) {
  const sorted = (ids: readonly string[] | null | undefined) => ids && [...ids].sort();
  return defined({
    name: name !== before.name ? name : undefined,
    sources: !same(sorted(sources) ?? null, sorted(before.sources)) ? (sources ?? null) : undefined,
    destinations:
      destinations && !same(sorted(destinations), sorted(before.destinations))
        ? destinations
        : undefined,
    syncEvery: syncEvery !== undefined && syncEvery !== before.syncEvery ? syncEvery : undefined,
  });
}

/** Returns whether saving computes everything again from the start. */
export function countsAnew(patch: AudiencePatch | TraitPatch): boolean {
  return ['condition', 'sources', 'compute', 'event', 'property', 'window'].some(
    (field) => field in patch,
  );
}
