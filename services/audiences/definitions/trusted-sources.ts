import { type ConfigView } from '../../../shared/config/types';

/**
 * Which sources count for a definition: pure.
 *
 * The write key of a browser source is public: anybody can send any user's id with it. So a definition counts the
 * messages of browser sources only where it names them, and there a trait that a server source has set wins.
 */
export interface TrustedSources {
  /** those that the definition names; undefined: all server sources */
  named: ReadonlySet<string> | undefined;
  /** all browser sources */
  browser: ReadonlySet<string>;
  /** the same for the same sources, in whatever order */
  name: string;
}

export const NO_SOURCES: ReadonlySet<string> = new Set();

export function trustedSourcesOf(ids: readonly string[] | undefined, browser: ReadonlySet<string>): TrustedSources {
  const named = ids && new Set(ids);
  const nameOf = (of: Iterable<string>) => [...of].sort().join(' ');
  // No id of a source holds a star or a stroke.
  return { named, browser, name: `${ids ? nameOf(ids) : '*'}|${nameOf(browser)}` };
}

export function countsFor({ named, browser }: TrustedSources, source: string): boolean {
  return named ? named.has(source) : !browser.has(source);
}

/** The sources whose write keys are public. */
export function browserSources(config: Pick<ConfigView, 'list'>): Set<string> {
  return new Set(config.list('source').flatMap(({ data }) => (data.trust === 'browser' ? [data.id] : [])));
}
