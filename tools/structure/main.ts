import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../shared/service/repo-root';
import { importGraph, layersOf, lengths, quantile } from './measure';

/** `npm run structure`: prints number and length of files, length of functions, uses of `any`, and import layers of services and shared. */

const graph = importGraph('services', 'shared');
const files = [...graph.keys()];
const folders = [...new Set(files.map((file) => file.split('/').slice(0, 2).join('/')))].sort();

console.log('folder                 files   lines  file med/p90/max  functions  med/p90/max  any  layers');
for (const folder of ['services', 'shared', ...folders, '']) {
  const own = files.filter((file) => folder === '' || file.startsWith(`${folder}/`));
  const measured = own.map((file) => lengths(file, readFileSync(join(ROOT, file), 'utf8')));
  const lines = measured.map((file) => file.lines);
  const functions = measured.flatMap((file) => file.functions);
  const spread = (values: number[]) =>
    [quantile(values, 0.5), quantile(values, 0.9), quantile(values, 1)].map(String).join('/');
  console.log(
    [
      (folder || 'services + shared').padEnd(22),
      String(own.length).padStart(5),
      String(lines.reduce((sum, count) => sum + count, 0)).padStart(7),
      spread(lines).padStart(17),
      String(functions.length).padStart(10),
      spread(functions).padStart(12),
      String(measured.reduce((sum, file) => sum + file.anys, 0)).padStart(4),
      String(layersOf(graph, own)).padStart(7),
    ].join(' '),
  );
}
