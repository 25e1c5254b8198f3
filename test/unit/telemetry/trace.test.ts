import { childTraceparent, newTraceparent } from '../../../shared/telemetry/trace';

const FORM = /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/;

test('roots are well formed, and no two are the same', () => {
  const roots = Array.from({ length: 5_000 }, newTraceparent);
  expect(roots.filter((root) => !FORM.test(root))).toEqual([]);
  expect(new Set(roots.flatMap((root) => root.split('-').slice(1, 3))).size).toBe(2 * roots.length);
});

test('a child keeps its trace and whether it is sampled, and has a span of its own', () => {
  const parent = `${newTraceparent().slice(0, -2)}00`;
  const children = Array.from({ length: 5_000 }, () => childTraceparent(parent));
  expect(new Set(children.map((child) => child.slice(0, 36) + child.slice(52)))).toEqual(
    new Set([parent.slice(0, 36) + parent.slice(52)]),
  );
  expect(new Set([parent, ...children].map((child) => child.slice(36, 52))).size).toBe(children.length + 1);
});

test.each(['', 'nonsense', newTraceparent().toUpperCase(), `01${newTraceparent().slice(2)}`, `${newTraceparent()}-x`])(
  'what cannot be read begins a new trace: %j',
  (parent) => {
    const child = childTraceparent(parent);
    expect(child).toMatch(FORM);
    expect(child.slice(3, 35)).not.toBe(parent.slice(3, 35));
  },
);
