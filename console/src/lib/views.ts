/**
 * Saved views: named filters of a list, kept by the browser. Storage that is disabled keeps none.
 */

export interface View {
  name: string;
  /** filters as in the address */
  filters: string;
}

interface Store {
  getItem(key: string): string | null;
  setItem(key: string, text: string): void;
}

const keyOf = (list: string) => `waypost.views.${list}`;
/** More than a menu shows well. */
const MOST = 50;

export function readViews(list: string, store: Store | undefined): View[] {
  try {
    const stored: unknown = JSON.parse(store?.getItem(keyOf(list)) ?? '[]');
    return Array.isArray(stored) ? stored.filter(isView).slice(0, MOST) : [];
  } catch {
    return [];
  }
}

/** Stores a view; one of the same name is replaced. @returns all views, by name */
export function saveView(list: string, view: View, store: Store | undefined): View[] {
  const others = readViews(list, store).filter(({ name }) => name !== view.name);
  return write(list, [...others, view].slice(-MOST), store);
}

export function removeView(list: string, name: string, store: Store | undefined): View[] {
  return write(
    list,
    readViews(list, store).filter((view) => view.name !== name),
    store,
  );
}

function write(list: string, views: View[], store: Store | undefined): View[] {
  const sorted = views.sort((a, b) => a.name.localeCompare(b.name));
  try {
    store?.setItem(keyOf(list), JSON.stringify(sorted));
  } catch {
    // Storage is disabled or full: the view lives until the page is left.
  }
  return sorted;
}

function isView(value: unknown): value is View {
  if (typeof value !== 'object' || value === null) return false;
  const { name, filters } = value as Partial<View>;
  return typeof name === 'string' && typeof filters === 'string';
}
