import { layersOf, lengths, quantile } from '../../../tools/structure/measure';

test('the lengths of a file count its lines, its functions with a block, and its uses of any', () => {
  const text = 'const a = (b: any) => b;\nfunction c() {\n  return [1].map((d) => {\n    return d;\n  });\n}\n';
  expect(lengths('file.ts', text)).toEqual({ lines: 6, functions: [5, 3], anys: 1 });
});

test('a file is one layer above the highest file that it imports, and imports from outside do not count', () => {
  const graph = new Map([
    ['main', ['handler', 'log']],
    ['handler', ['decide']],
    ['decide', ['outside']],
    ['log', []],
  ]);
  expect(layersOf(graph, [...graph.keys()])).toBe(3);
  expect(layersOf(graph, ['main', 'log'])).toBe(2);
});

test('a quantile is a measured value, and 0 without values', () => {
  expect([quantile([3, 1, 2, 4], 0.5), quantile([3, 1, 2, 4], 1), quantile([], 0.5)]).toEqual([2, 4, 0]);
});
