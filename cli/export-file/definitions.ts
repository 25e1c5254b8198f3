import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { type Audience, type ComputedTrait, type Operations } from '../../shared/api/operations';
import { defined } from '../../shared/collections/defined';
import { COMPUTES, keyOf } from '../../shared/model/audience-definition';

/**
 * Audiences and computed traits in an export file. The file has names in place of source and
 * destination ids. It has no members: the target system computes the members of a condition again,
 * and you upload lists.
 */

const common = {
  name: z.string().min(1),
  key: z.string().min(1),
  /** null: all */
  sources: z.array(z.string()).min(1).nullable().default(null),
  destinations: z.array(z.string()).default([]),
  syncEvery: z.string().default('1m'),
};
export const audience = z.strictObject({
  ...common,
  condition: z.string().nullable().default(null),
});
export const trait = z.strictObject({
  ...common,
  compute: z.enum(COMPUTES),
  event: z.string().min(1),
  property: z.string().nullable().default(null),
  window: z.string().nullable().default(null),
});

type FileAudience = z.output<typeof audience>;
type FileTrait = z.output<typeof trait>;

/** Names of sources and destinations by id. */
export interface Names {
  sources: ReadonlyMap<string, string>;
  destinations: ReadonlyMap<string, string>;
}

export function audienceToFile(one: Audience, names: Names): FileAudience {
  return { ...commonToFile(one, names), condition: one.condition };
}

export function traitToFile(one: ComputedTrait, names: Names): FileTrait {
  const { compute, event, property, window } = one;
  return { ...commonToFile(one, names), compute, event, property, window };
}

function commonToFile(
  { name, key, sources, destinations, syncEvery }: Audience | ComputedTrait,
  names: Names,
) {
  return {
    name,
    key,
    syncEvery,
    sources: sources?.flatMap((id) => names.sources.get(id) ?? []) ?? null,
    destinations: destinations.flatMap((id) => names.destinations.get(id) ?? []),
  };
}

type AudienceBody = Operations['POST /audiences']['body'];
type TraitBody = Operations['POST /computed-traits']['body'];
type AudiencePatch = Operations['PATCH /audiences/{id}']['body'];
type TraitPatch = Operations['PATCH /computed-traits/{id}']['body'];

/** The planned change of one definition; it has names where the body lacks ids. */
interface PlannedChange {
  name: string;
  sources: string[] | null;
  destinations: string[];
}
export type DefinitionStep =
  | (PlannedChange & { kind: 'audience'; act: 'create'; body: AudienceBody; rename: boolean })
  | (PlannedChange & { kind: 'trait'; act: 'create'; body: TraitBody; rename: boolean })
  | (PlannedChange & { kind: 'audience'; act: 'change'; id: string; body: AudiencePatch })
  | (PlannedChange & { kind: 'trait'; act: 'change'; id: string; body: TraitPatch })
  | { kind: 'audience' | 'trait'; act: 'keep'; name: string };

/** @param faults collects the reasons why a definition cannot be applied */
export function planAudience(
  wanted: FileAudience,
  here: readonly Audience[],
  names: Names,
  faults: string[],
) {
  const { condition } = wanted;
  return plan<FileAudience, Audience>(wanted, here, faults, {
    kind: 'audience',
    toFile: (one) => audienceToFile(one, names),
    create: (planned, made) => ({
      ...planned,
      kind: 'audience',
      act: 'create',
      rename: made.rename,
      body: {
        ...made.body,
        ...defined({ condition: condition !== null ? condition : undefined }),
      },
    }),
    change: (planned, id, body) => ({
      ...planned,
      kind: 'audience',
      act: 'change',
      id,
      body: { ...body, condition },
    }),
  });
}

/** @param faults as in `planAudience` */
export function planTrait(
  wanted: FileTrait,
  here: readonly ComputedTrait[],
  names: Names,
  faults: string[],
) {
  const { compute, event, property, window } = wanted;
  return plan<FileTrait, ComputedTrait>(wanted, here, faults, {
    kind: 'trait',
    toFile: (one) => traitToFile(one, names),
    create: (planned, made) => ({
      ...planned,
      kind: 'trait',
      act: 'create',
      rename: made.rename,
      body: {
        ...made.body,
        compute,
        event,
        ...defined({
          property: property !== null ? property : undefined,
          window: window !== null ? window : undefined,
        }),
      },
    }),
    change: (planned, id, body) => ({
      ...planned,
      kind: 'trait',
      act: 'change',
      id,
      body: { ...body, compute, event, property, window },
    }),
  });
}

interface Made {
  body: { name: string; syncEvery: string };
  /** the key derives from the first name, and the name has changed since */
  rename: boolean;
}

interface Ways<F, H> {
  kind: 'audience' | 'trait';
  toFile: (one: H) => F;
  create: (planned: PlannedChange, made: Made) => DefinitionStep;
  change: (planned: PlannedChange, id: string, body: { syncEvery: string }) => DefinitionStep;
}

function plan<
  F extends FileAudience | FileTrait,
  H extends { id: string; name: string; key: string },
>(
  wanted: F,
  here: readonly H[],
  faults: string[],
  { kind, toFile, create, change }: Ways<F, H>,
): DefinitionStep {
  const { name, key, sources, destinations, syncEvery } = wanted;
  // The key of a definition never changes, and no two have the same.
  const same = here.find((one) => one.key === key);
  const planned = { name, sources, destinations };
  if (!same) {
    const other = here.find((one) => one.name === name);
    if (other) {
      faults.push(
        `The ${kind} "${name}" gives receivers the trait ${other.key} here and ${key} in the ` +
          'file, which cannot be changed. Rename one of them.',
      );
    }
    const rename = keyOf(name) !== key;
    if (keyOf(key) !== key) {
      faults.push(`"${key}", the key of ${kind} "${name}", is not in snake_case.`);
    }
    return create(planned, { body: { name: rename ? key : name, syncEvery }, rename });
  }
  const inOrder = (one: F) => ({
    ...one,
    sources: one.sources?.toSorted(),
    destinations: one.destinations.toSorted(),
  });
  if (isDeepStrictEqual(inOrder(toFile(same)), inOrder(wanted))) return { kind, act: 'keep', name };
  return change(planned, same.id, { syncEvery });
}

interface Definitions {
  audiences: readonly { name: string; key: string }[];
  traits: readonly { name: string; key: string }[];
}

/** Returns a fault for each new definition whose trait another one already uses. */
export function traitsInUse(file: Definitions, present: Definitions): string[] {
  const here = [...present.audiences, ...present.traits];
  const nameByKey = new Map(here.map(({ key, name }) => [key, name]));
  const isNew = (known: Definitions['audiences']) => (wanted: { key: string }) =>
    !known.some(({ key }) => key === wanted.key);
  const created = [
    ...file.audiences.filter(isNew(present.audiences)),
    ...file.traits.filter(isNew(present.traits)),
  ];
  return created.flatMap(({ name, key }) => {
    const user = nameByKey.get(key);
    nameByKey.set(key, name);
    return user === undefined
      ? []
      : [`"${name}" would use the trait ${key}, which "${user}" already uses.`];
  });
}
