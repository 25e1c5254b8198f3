import { type ConfigReader } from '../../../shared/config/types';
import { type Definition, Definitions, ofAudience, ofTrait, type OnFailure } from './compile';
import { browserSources } from './trusted-sources';

/** The definitions of `config`, compiled once for each version of them. */
export class CompiledDefinitions {
  #current: Definitions;
  #stale = false;
  /** ids of the browser sources that they were compiled with */
  #browser = '';
  readonly #compiled = new Map<string, { version: number; definition: Definition }>();

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
    const known = <T extends { id: string }>(entry: { version: number; data: T }, make: (data: T) => Definition) => {
      const before = this.#compiled.get(entry.data.id);
      if (before?.version === entry.version) return before.definition;
      const definition = make(entry.data);
      this.#compiled.set(entry.data.id, { version: entry.version, definition });
      return definition;
    };
    const audiences = this.config
      .list('audience')
      .map((entry) => known(entry, (data) => ofAudience(data, this.onFailure, browser)));
    const traits = this.config.list('computed_trait').map((entry) => known(entry, (data) => ofTrait(data, browser)));
    return new Definitions([...audiences, ...traits], browser);
  }
}
