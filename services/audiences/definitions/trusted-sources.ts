import { type ConfigView } from '../../../shared/config/types';

/**
 * Decides which sources count for a definition: pure.
 *
 * The write key of a browser source is public: anybody can use it to send any user's id. A
 * definition therefore counts messages of browser sources only if it names these sources. Even
 * then, a trait set by a server source wins.
 */
export interface TrustedSources {
  /** the sources that the definition names; undefined: all server sources */
  named: ReadonlySet<string> | undefined;
  /** all browser sources */
  browser: ReadonlySet<string>;
  /** equal for equal sources, in any order */
  name: string;
}

export const NO_SOURCES: ReadonlySet<string> = new Set();

export function trustedSourcesOf(
  ids: readonly string[] | undefined,
  browser: ReadonlySet<string>,
): TrustedSources {
  const named = ids && new Set(ids);
  const nameOf = (of: Iterable<string>) => [...of].sort().join(' ');
  // Ids of sources contain neither a star nor a vertical bar.
  return { named, browser, name: `${ids ? nameOf(ids) : '*'}|${nameOf(browser)}` };
}

export function countsFor({ named, browser }: TrustedSources, source: string): boolean {
  return named ? named.has(source) : !browser.has(source);
}

/** Returns the ids of the sources whose write keys are public. */
export function browserSources(config: Pick<ConfigView, 'list'>): Set<string> {
  return new Set(
    config.list('source').flatMap(({ data }) => (data.trust === 'browser' ? [data.id] : [])),
  );
}
