import { createElement, type ReactElement, type ReactNode } from 'react';
import { text } from '../../../console/src/texts';
import { counted } from '../../../console/src/texts/counts';
import { nodes } from '../../../console/src/texts/nodes';
import { pseudo } from '../../../console/src/texts/pseudo';

const childrenOf = (node: ReactNode) =>
  (node as ReactElement<{ children: ReactNode[] }>).props.children;

describe('the texts of the console', () => {
  test('are English unless the browser has chosen another language', () => {
    expect(text.shell.shell.signOut).toBe('Sign out');
  });

  test('have a singular and a plural', () => {
    expect([counted(1, 'dead letter'), counted(1_200, 'dead letter')]).toEqual([
      '1 dead letter',
      '1,200 dead letters',
    ]);
  });

  test('may contain elements between their words', () => {
    const time = createElement('time');
    expect(childrenOf(nodes`Searched from ${time} to ${'now'}.`)).toEqual([
      'Searched from ',
      time,
      ' to ',
      'now',
      '.',
    ]);
  });
});

describe('the pseudo-locale', () => {
  const says = pseudo({
    plain: { title: 'Sign out', empty: '' },
    code: 'Such as 30s or events:read, in X-Signature',
    named: (name: string) => `Delete ${name}?`,
    counted: (n: number) => counted(n, 'notice'),
    rich: (who: ReactNode, name: string) => nodes`Sent to ${who} by ${name}`,
  });

  test('marks, accents and lengthens each text', () => {
    expect(says.plain).toEqual({ title: '⟦Šíǧń óúť ~~~⟧', empty: '' });
  });

  test('keeps code, names of headers and durations', () => {
    expect(says.code).toMatch(/ 30s .* events:read, .* X-Signature /u);
  });

  test('keeps the values of a text', () => {
    expect(says.named('Web shop')).toBe('⟦Ďéĺéťé Web shop? ~~~~~⟧');
    expect(says.counted(3)).toBe('⟦3 ńóťíćéš ~~~⟧');
  });

  test('keeps the elements and the words between which they stand', () => {
    const link = createElement('a', null, 'Sent');
    expect(childrenOf(says.rich(link, 'Ann'))).toEqual([
      '⟦Šéńť ťó  ~~~⟧',
      link,
      '⟦ ƀý  ~~⟧',
      'Ann',
    ]);
  });
});
