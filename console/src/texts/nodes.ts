import { createElement, Fragment, type ReactNode } from 'react';

/** Returns a text that contains elements: ``nodes`Searched from ${from} to ${to}.` `` */
export function nodes(parts: TemplateStringsArray, ...between: ReactNode[]): ReactNode {
  const children = parts.flatMap((part, i) => (i < between.length ? [part, between[i]] : [part]));
  return createElement(Fragment, null, ...children.filter((child) => child !== ''));
}
