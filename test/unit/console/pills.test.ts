import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../../shared/runtime/repo-root';

/** The colours of the pills, which show states as words. */

const STYLE = readFileSync(join(ROOT, 'console/src/style.css'), 'utf8');

/** Returns the states whose pills have this ink. */
function statesIn(ink: string): string[] {
  const rules = [...STYLE.matchAll(/([^{}]+)\{([^{}]*)\}/g)];
  return rules
    .filter(([, , declarations]) => declarations!.includes(`color: var(--${ink}-ink)`))
    .flatMap(([, selectors]) => [...selectors!.matchAll(/\.pill-(\w+)/g)])
    .map(([, state]) => state!);
}

test('a pill is red where somebody loses events and a person must act, and nowhere else', () => {
  expect(statesIn('lost').sort()).toEqual([
    'dead',
    'dead_letters',
    'failing',
    'switched_off',
    'webhook_disabled',
  ]);
});
