import { useEffect, useRef } from 'react';
import { NavigationType, useLocation, useNavigationType } from 'react-router';
import { linkOf, rowOf } from './rows';

/** The row of each list that its reader went away from, by the address of the list. */
const left = new Map<string, string>();

/**
 * Brings the reader of a list back to the row that they came from, by the browser's Back: its link
 * has the focus again.
 * @returns for `ref` of the element that contains the rows
 */
export function useReturn(): React.RefObject<HTMLDivElement | null> {
  const { key } = useLocation();
  const isBack = useNavigationType() === NavigationType.Pop;
  const list = useRef<HTMLDivElement>(null);
  const pending = useRef(isBack);
  useEffect(() => {
    const rows = list.current;
    if (!rows) return;
    const note = () => {
      const row = document.activeElement?.closest<HTMLElement>('[data-row]');
      if (row?.dataset.row !== undefined) left.set(key, row.dataset.row);
    };
    // What is open beside the list is in the address, which has another key then.
    note();
    rows.addEventListener('focusin', note);
    return () => rows.removeEventListener('focusin', note);
  }, [key]);
  useEffect(() => {
    const id = left.get(key);
    if (!pending.current || id === undefined) return;
    pending.current = false;
    const row = rowOf(id);
    row?.scrollIntoView({ block: 'center' });
    linkOf(row)?.focus({ preventScroll: true });
  }, [key]);
  return list;
}
