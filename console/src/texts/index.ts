import { administration } from './administration';
import { alerts } from './alerts';
import { audience } from './audience';
import { condition } from './condition';
import { connect } from './connect';
import { delivery } from './delivery';
import { destination } from './destination';
import { endpoint } from './endpoint';
import { lib } from './lib';
import { pseudo } from './pseudo';
import { replay } from './replay';
import { setup } from './setup';
import { shell } from './shell';
import { signing } from './signing';
import { source } from './source';
import { ui } from './ui';
import { watch } from './watch';

/**
 * All texts of the console, by place. English is the source, and its type is the type of every
 * other language. A text with values is a function; one with elements among its words returns them
 * with `nodes`.
 */
const english = {
  shell,
  watch,
  setup,
  administration,
  alerts,
  audience,
  condition,
  connect,
  delivery,
  destination,
  endpoint,
  signing,
  lib,
  replay,
  source,
  ui,
};

type Texts = typeof english;

/** The key of the browser's storage that chooses the pseudo-locale. Only tests set it. */
const PSEUDO = 'waypost.pseudo';

/** The texts of the chosen language. It is chosen once, when the console loads. */
export const text: Texts = isPseudo() ? pseudo(english) : english;

function isPseudo(): boolean {
  try {
    const { localStorage } = globalThis as {
      localStorage?: { getItem: (key: string) => string | null };
    };
    return localStorage?.getItem(PSEUDO) === 'true';
  } catch {
    // The browser forbids storage.
    return false;
  }
}
