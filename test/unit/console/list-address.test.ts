import { filtersIn, isPart, withFilters, withValues } from '../../../console/src/lib/list-address';

/** The address of a list. */

const at = (search: string) => new URLSearchParams(search);

test.each([
  ['kind', 'failing', 'kind=failing'],
  // A filter of the notices.
  ['open', 'true', 'open=true'],
  ['open', '', ''],
])('the filter %s=%s begins with the first page', (name, value, expected) => {
  const search = withFilters(at('after=c&page=2&open=false'), { open: '', [name]: value });
  expect(search.toString()).toBe(expected);
});

test('a delivery is opened beside a list whose page stays', () => {
  const search = withValues(at('after=c&page=2&status=dead'), { panel: 'dlv_1' });
  expect(search.toString()).toBe('after=c&page=2&status=dead&panel=dlv_1');
  expect(withValues(search, { panel: '' }).toString()).toBe('after=c&page=2&status=dead');
});

test.each([
  ['', '', false],
  ['panel=dlv_1', '', false],
  ['after=c&page=2', '', true],
  ['open=true', 'open=true', true],
  ['panel=dlv_1&status=dead&after=c&page=2&kind=a', 'kind=a&status=dead', true],
])('the view ?%s has the filters "%s"', (search, filters, part) => {
  expect([filtersIn(at(search)), isPart(at(search))]).toEqual([filters, part]);
});
