import { type KeyboardEvent, type MouseEvent } from 'react';

/** The rows of a list: elements with `data-row`, whose first link leads to the page of the row. */

export function rowOf(id: string): HTMLElement | null {
  return document.querySelector<HTMLElement>(`[data-row="${CSS.escape(id)}"]`);
}

export function linkOf(row: Element | null | undefined): HTMLElement | null | undefined {
  return row?.querySelector<HTMLElement>('a');
}

/** Returns whether an event is for a link or a field within a row. */
export function isNotForRow({ target }: { target: EventTarget }): boolean {
  return (target as Element).closest('a, button, input, label, select') !== null;
}

/** A click beside its links opens a row. Whoever marks a text does not want to leave it. */
export function openRow(event: MouseEvent<HTMLElement>): void {
  if (isNotForRow(event) || window.getSelection()?.isCollapsed === false) return;
  const link = linkOf((event.target as Element).closest('[data-row]'));
  // Back returns to the link that had the focus.
  link?.focus({ preventScroll: true });
  link?.click();
}

/** ↑ and ↓ move from row to row. */
export function moveInRows(event: KeyboardEvent<HTMLElement>): void {
  if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
  const row = (event.target as Element).closest('[data-row]');
  const next = event.key === 'ArrowDown' ? row?.nextElementSibling : row?.previousElementSibling;
  const link = linkOf(next);
  if (!link) return;
  link.focus();
  event.preventDefault();
}
