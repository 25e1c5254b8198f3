import { type KeyboardEvent, type MouseEvent } from 'react';

/** The rows of a list: elements with `data-row`, whose first link leads to the page of the row. */

/** What a row is about, shown beside its list. */
export interface Beside {
  /** id of the row that is shown; empty: none */
  open: string;
  /** @param id empty: closes it */
  show: (id: string) => void;
}

/** Beside a narrower list nothing has room: a click then leads to the page of the row. */
const HAS_ROOM = '(min-width: 64em)';

export function rowOf(id: string): HTMLElement | null {
  return document.querySelector<HTMLElement>(`[data-row="${CSS.escape(id)}"]`);
}

function idOf(row: Element): string {
  return row.getAttribute('data-row') ?? '';
}

export function linkOf(row: Element | null | undefined): HTMLElement | null | undefined {
  return row?.querySelector<HTMLElement>('a');
}

/**
 * A click in a row opens it, unless it is for a link or a field there. Whoever marks a text does
 * not want to leave it.
 */
export function openRow(event: MouseEvent<HTMLElement>, beside?: Beside): void {
  const target = event.target as Element;
  const row = target.closest('[data-row]');
  if (!row || target.closest('a, button, input, label, select')) return;
  if (window.getSelection()?.isCollapsed === false) return;
  const link = linkOf(row);
  // Back returns to the link that had the focus.
  link?.focus({ preventScroll: true });
  if (beside && window.matchMedia(HAS_ROOM).matches) beside.show(idOf(row));
  else link?.click();
}

/**
 * ↑ and ↓ move from row to row, and with them what is open beside the list. Space opens a row
 * there, and Escape closes it.
 */
export function moveInRows(event: KeyboardEvent<HTMLElement>, beside?: Beside): void {
  const { key, currentTarget: list } = event;
  const target = event.target as HTMLElement;
  // A dialog in front of the page is outside, and what scrolls by itself has these keys.
  if (!list.contains(target) || target.closest('textarea, select, .json, pre')) return;
  const own = target.closest('[data-row]');
  if (key === 'Escape' && beside && beside.open !== '') {
    beside.show('');
    linkOf(rowOf(beside.open))?.focus();
  } else if (key === ' ' && beside && own && target.tagName === 'A') {
    beside.show(idOf(own));
  } else if (key === 'ArrowDown' || key === 'ArrowUp') {
    const current = own ?? rowOf(beside?.open ?? '');
    const next = current ? neighbourOf(current, key) : list.querySelector('[data-row]');
    if (!next) return;
    linkOf(next)?.focus();
    if (beside && beside.open !== '') beside.show(idOf(next));
  } else return;
  event.preventDefault();
}

function neighbourOf(row: Element, key: 'ArrowDown' | 'ArrowUp'): Element | null {
  return key === 'ArrowDown' ? row.nextElementSibling : row.previousElementSibling;
}
