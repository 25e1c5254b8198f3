import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../../shared/service/repo-root';
import { importGraph, importsOf, layersOf, lengths, quantile } from '../../../tools/structure/measure';

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

test('imports of types and of packages do not count as imports', () => {
  const text = `import { type A } from './a';\nimport type { B } from './b';\nimport { C, type D } from '../c';\nimport 'zod';\n`;
  expect(importsOf('services/control/main.ts', text)).toEqual(['services/c.ts']);
});

test('files of services and shared have at most 250 lines, and control at most 8 layers of imports', () => {
  const graph = importGraph('services', 'shared');
  const files = [...graph.keys()];
  expect(files.length).toBeGreaterThan(300);
  const linesOf = (file: string) => lengths(file, readFileSync(join(ROOT, file), 'utf8')).lines;
  expect(files.filter((file) => linesOf(file) > 250)).toEqual([]);
  expect(
    layersOf(
      graph,
      files.filter((file) => file.startsWith('services/control/')),
    ),
  ).toBeLessThanOrEqual(8);
});
