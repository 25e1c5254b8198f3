import { createContext, useContext } from 'react';
import { hitsIn } from '../lib/hits';

/** What somebody searches for, wherever it is shown below; empty: nothing. */
export const Sought = createContext('');

/** A text in which the hits of the search are marked. */
export function Marked({ children: text }: { children: string }) {
  return hitsIn(text, useContext(Sought)).map((part, i) =>
    i % 2 === 0 ? part : <mark key={i}>{part}</mark>,
  );
}
