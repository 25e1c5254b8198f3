import { type z } from 'zod';
import { type Entry } from '../../../shared/config/types';
import { type Source } from '../../../shared/model/config';
import {
  type Audience,
  type ComputedTrait,
  keyOf,
} from '../../../shared/model/audience-definition';
import { type Json } from '../../../shared/model/message';
import { expressionErrors, type RequestExpressions } from '../expressions/request-expressions';
import { errorAt, type FieldError, quoted } from '../http/problem';
import { mergePatch } from '../http/entry-patch';
import { fieldsOf, parseBody } from '../http/validate';
import { audienceBody, computedTraitBody, previewBody } from '../../../shared/api/audiences';
import { durationText } from '../../../shared/api/fields';
import { defined } from '../../../shared/collections/defined';

/** Validates changes of audiences and computed traits, and builds their API views. Pure. */

export type DefinitionKind = 'audience' | 'computed_trait';

/** The configuration that a body is validated against. */
interface KnownConfig {
  sourceExists(id: string): boolean;
  destinationExists(id: string): boolean;
  /** returns the name of another definition with this key, or undefined */
  keyTaken(key: string, id: string): string | undefined;
}

export interface Making extends KnownConfig {
  id: string;
  /** id of the source that will send its calls */
  source: string;
  now: Date;
  /** by partition of `messages`, its current end */
  history: number[];
  expressions: RequestExpressions;
}

/** An entry with the destinations to connect. */
export interface Made<T> {
  data: T;
  destinations: string[];
}

/** @throws Problem `invalid_fields` */
export function createAudience(body: unknown, making: Making): Made<Audience> {
  const fields = parseBody(audienceBody, body, audienceErrors(body, making));
  const { destinations, syncEvery, ...rest } = fields;
  return {
    data: { ...begun(rest.name, making), ...defined(rest), syncEveryMs: syncEvery },
    destinations,
  };
}

/**
 * Changes an audience. Its key stays, because receivers know the trait by it.
 * @throws Problem `invalid_fields`
 */
export function patchAudience(
  before: Audience,
  connected: string[],
  patch: Json,
  making: Making,
): Made<Audience> {
  const { name, condition, sources, syncEveryMs } = before;
  const now = defined({
    name,
    condition,
    sources,
    destinations: connected,
    syncEvery: durationText(syncEveryMs),
  });
  const body = mergePatch(now, patch);
  const errors = audienceErrors(body, making, before);
  if (
    (before.condition === undefined) !==
    ((body as { condition?: Json }).condition === undefined)
  ) {
    errors.push(
      errorAt(['condition'], 'cannot be added or removed. Create a new audience instead'),
    );
  }
  const { destinations, syncEvery, ...rest } = parseBody(audienceBody, body, errors);
  const { condition: _, sources: __, ...kept } = before;
  const data = {
    ...kept,
    ...defined(rest),
    syncEveryMs: syncEvery,
    updatedAt: making.now.toISOString(),
  };
  return { data: countedAnew(before, data, making), destinations };
}

/** @throws Problem `invalid_fields` */
export function createTrait(body: unknown, making: Making): Made<ComputedTrait> {
  const fields = parseBody(computedTraitBody, body, traitErrors(body, making));
  const { destinations, syncEvery, window, ...rest } = fields;
  return {
    data: {
      ...begun(rest.name, making),
      ...defined({ ...rest, windowMs: window }),
      syncEveryMs: syncEvery,
    },
    destinations,
  };
}

/** @throws Problem `invalid_fields` */
export function patchTrait(
  before: ComputedTrait,
  connected: string[],
  patch: Json,
  making: Making,
): Made<ComputedTrait> {
  const { name, compute, event, property, sources, windowMs, syncEveryMs } = before;
  const now = defined({
    name,
    compute,
    event,
    property,
    sources,
    destinations: connected,
    window: windowMs === undefined ? undefined : durationText(windowMs),
    syncEvery: durationText(syncEveryMs),
  });
  const body = mergePatch(now, patch);
  const { destinations, syncEvery, window, ...rest } = parseBody(
    computedTraitBody,
    body,
    traitErrors(body, making, before),
  );
  const { property: _, sources: __, windowMs: ___, ...kept } = before;
  const data = { ...kept, ...defined({ ...rest, windowMs: window }), syncEveryMs: syncEvery };
  return {
    data: countedAnew(before, { ...data, updatedAt: making.now.toISOString() }, making),
    destinations,
  };
}

/** @throws Problem `invalid_fields`, as for a new audience */
export function readPreview(
  body: unknown,
  known: Pick<Making, 'sourceExists' | 'expressions'>,
): z.output<typeof previewBody> {
  const { condition, sources } = fieldsOf(body);
  const errors = [
    ...expressionErrors({ condition }, known.expressions),
    ...unknownIds('sources', sources, (id) => known.sourceExists(id)),
  ];
  return parseBody(previewBody, body, errors);
}

/** Returns the source that sends a definition's calls to receivers. */
export function sourceOf({ id, name, source }: Audience | ComputedTrait, now: Date): Source {
  const at = now.toISOString();
  return { id: source, name, enabled: true, writeKeys: [], of: id, createdAt: at, updatedAt: at };
}

/** @param destinations ids of the destinations connected to its source */
export function audienceView({ version, data }: Entry<Audience>, destinations: string[]) {
  return {
    ...commonView(data, destinations),
    condition: data.condition ?? null,
    ...changed(version, data),
  };
}

/** @param destinations ids of the destinations connected to its source */
export function traitView({ version, data }: Entry<ComputedTrait>, destinations: string[]) {
  const { compute, event, property = null, windowMs } = data;
  const window = windowMs === undefined ? null : durationText(windowMs);
  return {
    ...commonView(data, destinations),
    compute,
    event,
    property,
    window,
    ...changed(version, data),
  };
}

function commonView(
  { id, name, key, source, sources, syncEveryMs }: Audience | ComputedTrait,
  connected: string[],
) {
  return {
    id,
    name,
    key,
    source,
    sources: sources ?? null,
    destinations: connected,
    syncEvery: durationText(syncEveryMs),
  };
}

function changed(version: number, { createdAt, updatedAt }: Audience | ComputedTrait) {
  return { version, createdAt, updatedAt };
}

function begun(name: string, { id, source, now, history }: Making) {
  const at = now.toISOString();
  // The validation has checked that the name gives a key.
  return { id, key: keyOf(name) ?? '', source, revision: 1, history, createdAt: at, updatedAt: at };
}

/**
 * Starts a new revision, counted from the beginning, if the condition, event or sources changed.
 */
function countedAnew<T extends Audience | ComputedTrait>(
  before: T,
  after: T,
  { history }: Making,
): T {
  const counted = (of: Audience | ComputedTrait) => {
    const { name: _, syncEveryMs: __, updatedAt: ___, ...rest } = of;
    return JSON.stringify(Object.entries(rest).sort(([a], [b]) => (a < b ? -1 : 1)));
  };
  return counted(before) === counted(after)
    ? after
    : { ...after, revision: before.revision + 1, history };
}

function audienceErrors(body: unknown, known: Making, before?: Audience): FieldError[] {
  const errors = commonErrors(body, known, before);
  const { condition } = fieldsOf(body);
  return condition === before?.condition
    ? errors
    : [...errors, ...expressionErrors({ condition }, known.expressions)];
}

/** Functions that need a property. */
const OF_PROPERTY: ReadonlySet<unknown> = new Set(['sum', 'min', 'max', 'most_frequent', 'unique']);

function traitErrors(body: unknown, known: Making, before?: ComputedTrait): FieldError[] {
  const errors = commonErrors(body, known, before);
  const { compute, property } = fieldsOf(body);
  if (OF_PROPERTY.has(compute) && property === undefined) {
    errors.push(errorAt(['property'], `is required with ${compute as string}`));
  }
  return errors;
}

function commonErrors(
  body: unknown,
  known: Making,
  before: { key: string } | undefined,
): FieldError[] {
  const { name, sources, destinations } = fieldsOf(body);
  const errors: FieldError[] = [];
  if (typeof name === 'string' && name.trim() !== '' && !before) {
    const key = keyOf(name);
    const taken = key === undefined ? undefined : known.keyTaken(key, known.id);
    const detail =
      key === undefined
        ? 'must contain a letter or a digit, and give a trait of at most 100 characters'
        : `would use the trait ${key}, which ${JSON.stringify(taken)} already uses`;
    if (key === undefined || taken !== undefined) {
      errors.push(errorAt(['name'], detail));
    }
  }
  errors.push(...unknownIds('sources', sources, (id) => known.sourceExists(id)));
  errors.push(...unknownIds('destinations', destinations, (id) => known.destinationExists(id)));
  return errors;
}

function unknownIds(
  field: 'sources' | 'destinations',
  ids: unknown,
  exists: (id: string) => boolean,
): FieldError[] {
  return Array.from((Array.isArray(ids) ? ids : []).entries()).flatMap(([i, id]): FieldError[] => {
    if (typeof id !== 'string' || exists(id)) return [];
    const detail = `unknown ${field.slice(0, -1)} ${quoted(id)}`;
    return [errorAt([field, i], detail)];
  });
}
