import { defined } from '../../../shared/collections/defined';
import { type ConfigReader } from '../../../shared/config/types';
import { type Audience, type ComputedTrait } from '../../../shared/model/audience-definition';
import { type Json } from '../../../shared/model/message';
import { compileExpression } from '../../../shared/cel/compile';
import { userVariables, type Variables } from '../../../shared/cel/json-values';
import { changesAt, type Counter, type CounterSpec, nothingOf, valueOf } from './aggregates';
import { type Profile, traitsOf } from '../profiles/profile';
import {
  browserSources,
  NO_SOURCES,
  type TrustedSources,
  trustedSourcesOf,
} from './trusted-sources';

/** Compiles audiences and computed traits, once for each version of `config`. */

/** A definition with the data needed to compute it. */
export interface Definition extends Pick<
  Audience | ComputedTrait,
  'id' | 'revision' | 'name' | 'key' | 'source' | 'syncEveryMs'
> {
  kind: 'audience' | 'computed_trait';
  history: readonly number[];
  counters: readonly CounterSpec[];
  /** the value that is not sent, since users start with it */
  nothing: Json;
  /**
   * Returns its value for a user at a time.
   * @param listedSince the first upload of members that counts
   */
  value(profile: Profile, nowMs: number, listedSince: number): Json;
}

/** All definitions, with an index by event. */
export class Definitions {
  readonly #byId: ReadonlyMap<string, Definition>;
  readonly #byEvent = new Map<string, { definition: Definition; spec: CounterSpec }[]>();
  readonly #specs = new Map<string, CounterSpec>();

  /** @param browser ids of the sources whose write keys are public */
  constructor(
    readonly all: readonly Definition[],
    readonly browser: ReadonlySet<string> = NO_SOURCES,
  ) {
    this.#byId = new Map(all.map((definition) => [definition.id, definition]));
    for (const definition of all) {
      for (const spec of definition.counters) {
        this.#specs.set(spec.id, spec);
        const same = this.#byEvent.get(spec.event);
        if (same) same.push({ definition, spec });
        else this.#byEvent.set(spec.event, [{ definition, spec }]);
      }
    }
  }

  of(id: string): Definition | undefined {
    return this.#byId.get(id);
  }

  spec(counter: string): CounterSpec | undefined {
    return this.#specs.get(counter);
  }

  countersOf(event: string): readonly { definition: Definition; spec: CounterSpec }[] {
    return this.#byEvent.get(event) ?? [];
  }

  /**
   * Returns when a value of the user changes without a new event, ms since 1970; undefined: never.
   */
  dueAt(profile: Profile, nowMs: number): number | undefined {
    let due: number | undefined;
    for (const [id, counter] of Object.entries(profile.counters ?? {})) {
      const spec = this.#specs.get(id);
      const at = spec && changesAt(spec, counter, nowMs);
      if (at !== undefined && (due === undefined || at < due)) due = at;
    }
    return due;
  }
}

/** Counts a condition that failed. The user is then not a member. */
export type OnFailure = (definition: string, reason: string) => void;

export function ofAudience(
  audience: Audience,
  onFailure: OnFailure,
  browser = NO_SOURCES,
): Definition {
  const { condition } = audience;
  const base = { ...common(audience), kind: 'audience' as const, nothing: false };
  if (condition === undefined) {
    const value: Definition['value'] = ({ uploadedMemberships }, _, listedSince) => {
      const [upload, listed] = uploadedMemberships?.[audience.id] ?? [0, 0];
      return listed === 1 && upload >= listedSince;
    };
    return { ...base, counters: [], value };
  }
  const expression = compileExpression(condition, 'audience');
  if (expression.kind === 'mistake') {
    // Control validated the condition. A later version of Waypost may accept more; an unreadable
    // condition has no members.
    onFailure(audience.id, expression.message);
    return { ...base, counters: [], value: () => false };
  }
  const sources = trustedSourcesOf(audience.sources, browser);
  const counters = expression.counters.map(({ name, event, property, windowMs }, i) =>
    specOf(audience, i, { compute: name, event, property, windowMs, sources }),
  );
  const specs = new Map(expression.counters.map((call, i) => [call, counters[i]]));
  return {
    ...base,
    counters,
    value: (profile, nowMs) => {
      const result = expression.evaluate(userOf(profile, sources), (call) => {
        const spec = specs.get(call);
        const value = spec && valueOf(spec, counterOf(profile, spec), nowMs);
        return value ?? undefined;
      });
      if (typeof result === 'boolean') return result;
      onFailure(audience.id, result.code);
      return false;
    },
  };
}

export function ofTrait(trait: ComputedTrait, browser = NO_SOURCES): Definition {
  const { compute, event, property, windowMs } = trait;
  const sources = trustedSourcesOf(trait.sources, browser);
  const spec = specOf(trait, 0, { compute, event, property, windowMs, sources });
  const isTime = property === undefined && (compute === 'first' || compute === 'last');
  return {
    ...common(trait),
    kind: 'computed_trait',
    counters: [spec],
    nothing: nothingOf(compute),
    value: (profile, nowMs) => {
      const value = valueOf(spec, counterOf(profile, spec), nowMs);
      return isTime && typeof value === 'number' ? new Date(value).toISOString() : value;
    },
  };
}

function common({
  id,
  revision,
  name,
  key,
  source,
  syncEveryMs,
  history,
}: Audience | ComputedTrait) {
  return { id, revision, name, key, source, syncEveryMs, history };
}

interface Counting {
  compute: CounterSpec['compute'];
  event: string;
  property: string | undefined;
  windowMs: number | undefined;
  sources: TrustedSources;
}

function specOf(
  { id, revision }: Audience | ComputedTrait,
  index: number,
  { compute, event, property, windowMs, sources }: Counting,
): CounterSpec {
  return {
    id: `${id}.${revision}.${index}`,
    compute,
    event,
    ...defined({
      property,
      windowMs,
    }),
    sources,
  };
}

/** Cache by the traits, then by the name of the sources. */
const users = new WeakMap<object, Map<string, Variables>>();
const WITHOUT_TRAITS = userVariables({ traits: {} });

/**
 * Returns a user as conditions see them. All definitions with the same traits and sources share the
 * object.
 */
function userOf(profile: Profile, sources: TrustedSources): Variables {
  const { traits } = profile;
  if (!traits) return WITHOUT_TRAITS;
  const known = users.get(traits) ?? new Map<string, Variables>();
  users.set(traits, known);
  let user = known.get(sources.name);
  if (!user) {
    known.set(sources.name, (user = userVariables({ traits: traitsOf(profile, sources) })));
  }
  return user;
}

function counterOf(profile: Profile, { id }: CounterSpec): Counter | undefined {
  return profile.counters?.[id];
}

/** Returns the definition and revision of a counter. */
export function ownerOf(counter: string): { id: string; revision: number } {
  const [id = '', revision = ''] = counter.split('.');
  return { id, revision: Number(revision) };
}

/** The definitions of `config`, compiled once for each version of them. */
export class CompiledDefinitions {
  #current: Definitions;
  #stale = false;
  /** ids of the browser sources that they were compiled with */
  #browser = '';
  readonly #compiled = new Map<string, { data: object; definition: Definition }>();

  constructor(
    private readonly config: ConfigReader,
    private readonly onFailure: OnFailure,
  ) {
    this.#current = this.#compile();
    config.onChange(({ kind }) => {
      if (kind === 'audience' || kind === 'computed_trait' || kind === 'source') this.#stale = true;
    });
  }

  get current(): Definitions {
    if (this.#stale) {
      this.#stale = false;
      this.#current = this.#compile();
    }
    return this.#current;
  }

  #compile(): Definitions {
    const browser = browserSources(this.config);
    const names = [...browser].sort().join(' ');
    // Every definition then counts other sources.
    if (names !== this.#browser) this.#compiled.clear();
    this.#browser = names;
    const known = <T extends { id: string }>(entry: { data: T }, make: (data: T) => Definition) => {
      const before = this.#compiled.get(entry.data.id);
      // Versions may come again, if `config` was cut.
      if (before?.data === entry.data) return before.definition;
      const definition = make(entry.data);
      this.#compiled.set(entry.data.id, { data: entry.data, definition });
      return definition;
    };
    const audiences = this.config
      .list('audience')
      .map((entry) => known(entry, (data) => ofAudience(data, this.onFailure, browser)));
    const traits = this.config
      .list('computed_trait')
      .map((entry) => known(entry, (data) => ofTrait(data, browser)));
    return new Definitions([...audiences, ...traits], browser);
  }
}
