import { CEILINGS, DOCS_CEILING } from '../../../tools/prose/ceilings';
import { measureComments, measureDocs } from '../../../tools/prose/files';
import { measure, rates } from '../../../tools/prose/measure';

describe('the meter of prose', () => {
  test('counts odd phrases and openings in the sentences of a page, but not in its code', () => {
    const page =
      'What is lost is sent away. The router drops the record.\n\n```\nWhat is code is no prose here.\n```\n';
    expect(measure('page.md', page)).toMatchObject({ sentences: 2, phrases: 2, openings: 1 });
  });

  test('counts the comments of code, and ignores its strings', () => {
    const code =
      "/** Whoever reads it is told. */\nconst text = 'nobody waits for it anew';\n// Drops the record of a source.\n";
    expect(measure('code.ts', code)).toMatchObject({ sentences: 2, phrases: 2, openings: 1 });
  });

  test('accepts a question word at the start of a question', () => {
    expect(measure('page.md', 'Where does a delivery wait?').openings).toBe(0);
  });

  test('relates phrases to words, and openings to sentences', () => {
    const prose = { words: 500, sentences: 50, phrases: 1, openings: 1, found: [] };
    expect(rates([prose, { ...prose, openings: 0 }])).toEqual({ phrases: 2, openings: 1 });
  });
});

test('the docs stay plain English', () => {
  const { phrases, openings } = rates(measureDocs());
  expect(phrases).toBeLessThanOrEqual(DOCS_CEILING.phrases);
  expect(openings).toBeLessThanOrEqual(DOCS_CEILING.openings);
});

// A higher rate means new sentences to rewrite: `npm run prose -- FOLDER` prints them. Never raise a ceiling.
test.each(Object.entries(CEILINGS))('the comments of %s do not get further from plain English', (folder, ceiling) => {
  const { phrases, openings } = rates(measureComments(folder));
  expect(phrases).toBeLessThanOrEqual(ceiling.phrases);
  expect(openings).toBeLessThanOrEqual(ceiling.openings);
});
