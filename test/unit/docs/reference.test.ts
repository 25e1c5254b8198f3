import { generatePage, PAGES, readPage } from '../../../tools/docs/pages';

/** The generated parts of docs/reference agree with the code. */

test.each(Object.keys(PAGES))('%s is current; otherwise run `npm run docs`', async (path) => {
  expect(readPage(path)).toBe(await generatePage(path));
});
