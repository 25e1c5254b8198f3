import { type Page } from 'playwright-core';
import { type Tab } from '../browser';

/** The console in its pseudo-locale, which marks each text of the catalogue: ⟦Šíǧń óúť ~~~⟧. */

/**
 * Chooses the pseudo-locale for the next pages, which keep what the API answers: the browser may
 * forget it any time.
 */
export async function chooseMarkedTexts(page: Page): Promise<void> {
  await page.addInitScript(`(() => {
    localStorage.setItem('waypost.pseudo', 'true');
    const answers = (window.answers = []);
    const ask = fetch;
    window.fetch = async (...given) => {
      const answer = await ask(...given);
      answers.push(await answer.clone().text());
      return answer;
    };
    const Stream = EventSource;
    window.EventSource = class extends Stream {
      constructor(...given) {
        super(...given);
        this.addEventListener('message', ({ data }) => answers.push(data));
      }
    };
  })()`);
}

function wordsIn(text: string): string[] {
  return text.match(/[\p{L}\d_'’-]*\p{L}[\p{L}\d_'’-]*/gu) ?? [];
}

/**
 * All texts of the page, also of folded parts, and the attributes that people read; and what the
 * API answered. Code and dates are no texts.
 */
const TEXTS = `(() => {
  const code = 'code, pre, time, script, style, noscript, [aria-hidden=true], .json, ' +
    '.recharts-wrapper svg';
  const isCode = (element) => element.closest(code) !== null;
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const parent = node.parentElement;
    if (!isCode(parent)) found.push([parent.closest('.pill') ? 'pill' : 'text', node.data]);
  }
  for (const name of ['aria-label', 'placeholder', 'title', 'alt']) {
    for (const element of document.querySelectorAll('body [' + name + ']')) {
      if (!isCode(element)) found.push([name, element.getAttribute(name)]);
    }
  }
  return { found, answers };
})()`;

/** Names of HTTP, of call types and of languages, which the page knows without the API. */
const CODES = new Set(
  wordsIn(
    'HTTP GET POST PUT PATCH DELETE SHA-1 track identify page screen group alias delete ' +
      'webhook-signature X-Signature curl Node Python Go',
  ),
);

/**
 * Returns the texts that neither come from the catalogue nor consist of words of the API's
 * responses. A pill shows a state, whose code is a word of the API, so each pill must come from the
 * catalogue.
 */
export async function unmarkedTexts(tab: Tab): Promise<string[]> {
  const page = (await tab.evaluate(TEXTS)) as {
    found: [place: string, text: string][];
    answers: string[];
  };
  const data = new Set(page.answers.flatMap(wordsIn));
  return page.found.flatMap(([place, text]) => {
    const rest = withoutMarked(text);
    const foreign = wordsIn(rest).filter(
      (word) => place === 'pill' || !(data.has(word) || CODES.has(word)),
    );
    return foreign.length === 0 ? [] : [`${place}: ${text.trim()}`];
  });
}

/** A text of the catalogue may contain another one. */
function withoutMarked(text: string): string {
  const rest = text.replace(/⟦[^⟦⟧]*⟧/g, ' ');
  return rest === text ? text : withoutMarked(rest);
}
