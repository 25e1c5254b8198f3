import { extname } from 'node:path';

/**
 * Measures how far a text is from plain technical English: phrases that engineers do not write, and sentences that open with
 * a noun clause. Code blocks, inline code, links and table borders do not count. A list of phrases cannot judge a text: it
 * finds the sentences to read again. Pure.
 */

/** Regular expressions, without regard to case, matched within a sentence. */
const PHRASES = [
  ...['anew', 'nobody', 'whoever', 'whatever', 'is no', 'are no(?= (?!(longer|more)))', 'that of', 'of its own'],
  ...['of their own', 'of ours', 'may be had', 'is to be', 'are to be', 'those (that|who|of|which)', 'told'],
  ...[
    'tells? (of|apart)',
    'sent away',
    'given back',
    'so many',
    'as many',
    'hence',
    'thereof',
    'meanwhile',
    'for ever',
  ],
  ...['ever (so|since)', 'in turns?', 'looked after', 'comes by', 'goes on', 'went on', 'had better', 'but for'],
  ...['not but', 'without anything', 'nothing more', 'or else', 'else \\w+ would', 'dear', 'in the way of'],
  ...['a moment ago', 'lately', 'by now', 'where (none|nothing|nobody|no)', 'that there (is|are|was|were|may)'],
  ...['one that', 'ones? of ours', 'in hand', 'at (hand|once)', 'of whom', 'of which', 'to whom', 'for whom'],
  'who (is|has|was|may|once|asks|reads|writes|waits|comes|goes)',
  'what (is|was|are|were|has|had|comes|came|goes|went|waits|waited|falls|fell|stands|stood|cannot|could|would|may|must|does|' +
    'did|follows|remains|belongs|lies|left)',
].map((phrase) => new RegExp(`\\b${phrase}\\b`, 'gi'));

/** First words of noun clauses. A question may begin with them. */
const OPENING = /^(what|who|whoever|whatever|whom|of|where|whether|how|those|whose)\b/i;

export interface Prose {
  words: number;
  sentences: number;
  phrases: number;
  openings: number;
  /** the sentences with a phrase or an opening */
  found: string[];
}

/** @param path its extension decides which part of the text is prose: all of a page, or the comments of code */
export function measure(path: string, text: string): Prose {
  const plain = (extname(path) === '.md' ? pageText(text) : commentText(text))
    .replace(/`[^`]*`/g, 'X')
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/https?:\S+/g, 'X');
  const sentences = plain
    .split(/(?<=[.!?:])\s+|\n\s*\n/)
    .map((sentence) => sentence.replace(/\s+/g, ' ').trim())
    .filter((sentence) => sentence.split(' ').length > 3);
  const prose = {
    words: plain.match(/[A-Za-z']+/g)?.length ?? 0,
    sentences: sentences.length,
    phrases: 0,
    openings: 0,
  };
  const found: string[] = [];
  for (const sentence of sentences) {
    const phrases = PHRASES.reduce((sum, phrase) => sum + (sentence.match(phrase)?.length ?? 0), 0);
    const opening = OPENING.test(sentence) && !sentence.endsWith('?') ? 1 : 0;
    prose.phrases += phrases;
    prose.openings += opening;
    if (phrases + opening > 0) found.push(sentence);
  }
  return { ...prose, found };
}

/** Odd phrases per 1,000 words, and the share of odd openings in percent. */
export function rates(parts: readonly Prose[]): { phrases: number; openings: number } {
  const sum = (of: (prose: Prose) => number) => parts.reduce((total, prose) => total + of(prose), 0);
  return {
    phrases:
      (sum(({ phrases }) => phrases) /
        Math.max(
          1,
          sum(({ words }) => words),
        )) *
      1_000,
    openings:
      (sum(({ openings }) => openings) /
        Math.max(
          1,
          sum(({ sentences }) => sentences),
        )) *
      100,
  };
}

function pageText(text: string): string {
  return text
    .replace(/```[\s\S]*?```/g, '')
    .replace(/^( {4}|\t).*$/gm, '')
    .replace(/^#+ /gm, '')
    .replace(/^\s*[-*] /gm, '\n')
    .replace(/\|/g, '. ');
}

function commentText(text: string): string {
  return [...text.matchAll(/\/\*\*?([\s\S]*?)\*\/|(?:^|[^:'"`\\])\/\/(.*)$/gm)]
    .map(([, block, line]) =>
      (block ?? line ?? '').replace(/^\s*\* ?/gm, '').replace(/@(param|returns?|throws)( \w+)?/g, '. '),
    )
    .join('\n\n');
}
