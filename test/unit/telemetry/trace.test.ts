import {
  childTraceparent,
  isTraceparent,
  newTraceparent,
  sampleRoots,
} from '../../../shared/telemetry/trace';

const FORM = /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/;

test('new traces have valid, unique ids', () => {
  const roots = Array.from({ length: 5_000 }, newTraceparent);
  expect(roots.filter((root) => !FORM.test(root))).toEqual([]);
  expect(new Set(roots.flatMap((root) => root.split('-').slice(1, 3))).size).toBe(2 * roots.length);
});

test('a child keeps the trace id and the sampling of its parent, and gets a new span id', () => {
  const parent = `${newTraceparent().slice(0, -2)}00`;
  const children = Array.from({ length: 5_000 }, () => childTraceparent(parent));
  expect(new Set(children.map((child) => child.slice(0, 36) + child.slice(52)))).toEqual(
    new Set([parent.slice(0, 36) + parent.slice(52)]),
  );
  expect(new Set([parent, ...children].map((child) => child.slice(36, 52))).size).toBe(
    children.length + 1,
  );
});

test.each([
  '',
  'nonsense',
  newTraceparent().toUpperCase(),
  `01${newTraceparent().slice(2)}`,
  `${newTraceparent()}-x`,
])('an invalid parent starts a new trace: %j', (parent) => {
  const child = childTraceparent(parent);
  expect(child).toMatch(FORM);
  expect(child.slice(3, 35)).not.toBe(parent.slice(3, 35));
});

describe('sampling', () => {
  afterEach(() => sampleRoots(1));

  test.each([
    [0, 0, 0],
    [0.25, 1_000, 1_500],
    [1, 5_000, 5_000],
  ])('at a sampling ratio of %d that share of new traces is marked', (ratio, least, most) => {
    sampleRoots(ratio);
    const marked = Array.from({ length: 5_000 }, newTraceparent).filter((root) =>
      root.endsWith('-01'),
    ).length;
    expect(marked).toBeGreaterThanOrEqual(least);
    expect(marked).toBeLessThanOrEqual(most);
  });
});

test.each([
  [newTraceparent(), true],
  [undefined, false],
  ['', false],
  [`${newTraceparent()}-x`, false],
  [`00-${'0'.repeat(32)}-${'1'.repeat(16)}-01`, false],
  [`00-${'1'.repeat(32)}-${'0'.repeat(16)}-01`, false],
])('whether a span may link to %j: %j', (text, may) => expect(isTraceparent(text)).toBe(may));
