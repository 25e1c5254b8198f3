/**
 * The address of a list: its filters, the page that is shown, and what is open beside it. Pure.
 *
 * Each page has its own filters, which have the names of the API. No filter is called
 * `panel`, `after` or `page`.
 */

/** The delivery that is open beside the list. */
export const PANEL = 'panel';
const PAGE = ['after', 'page'] as const;

/** @param values an empty one removes the parameter */
export function withValues(
  search: URLSearchParams,
  values: Readonly<Record<string, string>>,
): URLSearchParams {
  const next = new URLSearchParams(search);
  for (const [name, value] of Object.entries(values)) {
    if (value === '') next.delete(name);
    else next.set(name, value);
  }
  return next;
}

/** Other filters show other entries: they begin with the first page. */
export function withFilters(
  search: URLSearchParams,
  values: Readonly<Record<string, string>>,
): URLSearchParams {
  return withValues(search, { after: '', page: '', ...values });
}

/** Returns the filters alone, in one order, to save or compare a view. */
export function filtersIn(search: URLSearchParams): string {
  const others: readonly string[] = [...PAGE, PANEL];
  const kept = [...search].filter(([name]) => !others.includes(name));
  return new URLSearchParams(kept.sort(([a], [b]) => (a < b ? -1 : 1))).toString();
}

/** Returns whether the list may leave out entries: by a filter, or on pages before. */
export function isPart(search: URLSearchParams): boolean {
  return [...search.keys()].some((name) => name !== PANEL);
}
