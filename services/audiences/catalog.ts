import { type ConfigReader } from '../../shared/config/view';
import { type Definition, Definitions, ofAudience, ofTrait, type OnFailure } from './definitions';

/** The definitions of `config`, compiled once for each version of them. */
export class Catalog {
  #current: Definitions;
  #stale = false;
  readonly #compiled = new Map<string, { version: number; definition: Definition }>();

  constructor(
    private readonly config: ConfigReader,
    private readonly onFailure: OnFailure,
  ) {
    this.#current = this.#compile();
    config.onChange(({ kind }) => {
      if (kind === 'audience' || kind === 'computed_trait') this.#stale = true;
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
    const known = <T extends { id: string }>(entry: { version: number; data: T }, make: (data: T) => Definition) => {
      const before = this.#compiled.get(entry.data.id);
      if (before?.version === entry.version) return before.definition;
      const definition = make(entry.data);
      this.#compiled.set(entry.data.id, { version: entry.version, definition });
      return definition;
    };
    const audiences = this.config
      .list('audience')
      .map((entry) => known(entry, (data) => ofAudience(data, this.onFailure)));
    const traits = this.config.list('computed_trait').map((entry) => known(entry, ofTrait));
    return new Definitions([...audiences, ...traits]);
  }
}
