import { consolePages, routesWithout } from '../../support/console/pages';

/** The list of pages that the tests in a browser look at. */

const pages = consolePages({
  destination: 'dst_1',
  source: 'src_1',
  delivery: 'dlv_1',
  replay: 'rpl_1',
  audience: 'aud_1',
  trait: 'trt_1',
  user: 'user-1',
});

test('every route is in the list, with and without its optional parts', () => {
  expect(routesWithout(pages)).toEqual([]);
  const without = (start: string) => routesWithout(pages.filter(({ path }) => path !== start));
  expect(without('/connect')).toEqual(['connect']);
  expect(without('/connect/new?sources=src_1')).toEqual(['connect/:id']);
  const unconnected = pages.filter(({ path }) => !/^\/connect\/dst_1/.test(path));
  expect(routesWithout(unconnected)).toEqual(['connect/:id/:step']);
});
