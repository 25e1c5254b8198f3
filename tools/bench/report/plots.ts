import { SERVICES } from '../../../bin/service-list';
import { spread } from '../arithmetic';
import { micros } from './columns';
import { type PipelineFigure, type Round } from './figures';
import { hangings, ofPhases, shareOf } from './isolation-rows';

/**
 * The plots of a run: bars as SVG on a white ground, readable in a browser's light and dark mode.
 * Pure.
 */

interface Bar {
  label: string;
  /** from the bottom up; all bars share their names */
  parts: { name: string; value: number }[];
}

export interface Plot {
  title: string;
  unit: string;
  bars: readonly Bar[];
}

const WIDTH = 720;
const HEIGHT = 360;
const TOP = 60;
const BOTTOM = 50;
const LEFT = 70;
/** for the legend */
const RIGHT = 130;
const STEPS = 4;
const COLOURS = ['#4269d0', '#efb118', '#ff725c', '#6cc5b0', '#3ca951', '#9498a0', '#a463f2'];
const TEXT = 'font-family="sans-serif" font-size="12" fill="#333"';

/**
 * Returns the plots of a run by name, with medians over the rounds. It omits plots without figures.
 * Pure.
 */
export function plotsOf(rounds: readonly Round[]): Map<string, string> {
  const plots = new Map<string, string>();
  const latencies = isolationBars(rounds);
  if (latencies.length > 0) {
    const title = 'Healthy endpoints while others hang: p99 from the call to its webhook';
    plots.set('isolation', barPlot({ title, unit: 'ms', bars: latencies }));
  }
  const costs = [
    costBar('batches of 100', rounds, ({ batches }) => batches),
    costBar('single calls', rounds, ({ singles }) => singles),
  ].filter(({ parts }) => parts.length > 0);
  if (costs.length > 0) {
    plots.set(
      'cpu',
      barPlot({ title: 'CPU time of one webhook, by service', unit: 'CPU-µs', bars: costs }),
    );
  }
  return plots;
}

function isolationBars(rounds: readonly Round[]): Bar[] {
  const figures = rounds.flatMap(({ isolation }) => isolation ?? []);
  const [first] = figures;
  if (!first) return [];
  return hangings(first.phases).flatMap((hanging) => {
    const p99 = spread(
      figures.map(({ phases }) => ofPhases(phases, hanging, ({ p99Ms }) => p99Ms)),
    );
    return p99
      ? [{ label: shareOf(hanging, first.endpoints), parts: [{ name: 'p99', value: p99.median }] }]
      : [];
  });
}

function costBar(
  label: string,
  rounds: readonly Round[],
  of: (round: Round) => PipelineFigure | undefined,
): Bar {
  const parts = [...SERVICES, 'broker'].flatMap((name) => {
    const figures = rounds.map(of);
    const cost = spread(figures.map((figure) => figure && micros(figure, name)));
    return cost ? [{ name, value: cost.median }] : [];
  });
  return { label, parts };
}

/** Draws stacked bars side by side, with an axis and, for more than one part, a legend. */
export function barPlot({ title, unit, bars }: Plot): string {
  const names = [...new Set(bars.flatMap(({ parts }) => parts.map(({ name }) => name)))];
  const top = axisTop(Math.max(...bars.map(total)));
  const height = HEIGHT - TOP - BOTTOM;
  const yOf = (value: number) => TOP + height * (1 - value / top);
  const slot = (WIDTH - LEFT - RIGHT) / Math.max(1, bars.length);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${at(WIDTH)}" height="${at(HEIGHT)}" ` +
      `viewBox="0 0 ${at(WIDTH)} ${at(HEIGHT)}" role="img">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="100%" height="100%" fill="#fff"/>`,
    `<text x="${at(LEFT)}" y="24" ${TEXT} font-weight="bold">${escaped(title)}</text>`,
    `<text x="${at(LEFT)}" y="42" ${TEXT}>${escaped(unit)}</text>`,
    ...axis(top, yOf),
    ...bars.flatMap((bar, i) => drawn(bar, { x: LEFT + slot * i, slot, names, yOf })),
    ...(names.length > 1 ? legend(names) : []),
    '</svg>',
    '',
  ].join('\n');
}

/** Returns the end of the axis: the first of 1, 2, 5, 10, 20 … that is not below the value. */
export function axisTop(value: number): number {
  if (!(value > 0) || !Number.isFinite(value)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5, 10].find((step) => step * power >= value) ?? 10) * power;
}

function axis(top: number, yOf: (value: number) => number): string[] {
  return Array.from({ length: STEPS + 1 }, (_, i) => (top * i) / STEPS).flatMap((value) => [
    `<line x1="${at(LEFT)}" x2="${at(WIDTH - RIGHT)}" y1="${at(yOf(value))}" ` +
      `y2="${at(yOf(value))}" stroke="#ddd"/>`,
    `<text x="${at(LEFT - 8)}" y="${at(yOf(value) + 4)}" ${TEXT} ` +
      `text-anchor="end">${shown(value)}</text>`,
  ]);
}

function drawn(
  bar: Bar,
  {
    x,
    slot,
    names,
    yOf,
  }: { x: number; slot: number; names: readonly string[]; yOf: (value: number) => number },
): string[] {
  const [left, width, middle] = [x + slot * 0.2, slot * 0.6, x + slot / 2];
  let below = 0;
  const parts = bar.parts.map(({ name, value }) => {
    const [from, to] = [below, (below += value)];
    const colour = COLOURS[names.indexOf(name) % COLOURS.length] ?? '';
    const size = `width="${at(width)}" height="${at(yOf(from) - yOf(to))}"`;
    return (
      `<rect x="${at(left)}" y="${at(yOf(to))}" ${size} ` +
      `fill="${colour}"><title>${escaped(name)}: ${shown(value)}</title></rect>`
    );
  });
  return [
    ...parts,
    `<text x="${at(middle)}" y="${at(yOf(below) - 6)}" ${TEXT} ` +
      `text-anchor="middle">${shown(below)}</text>`,
    `<text x="${at(middle)}" y="${at(HEIGHT - BOTTOM + 20)}" ${TEXT} ` +
      `text-anchor="middle">${escaped(bar.label)}</text>`,
  ];
}

function legend(names: readonly string[]): string[] {
  const x = WIDTH - RIGHT + 16;
  return names.flatMap((name, i) => [
    `<rect x="${at(x)}" y="${at(TOP + i * 20)}" width="12" height="12" ` +
      `fill="${COLOURS[i % COLOURS.length] ?? ''}"/>`,
    `<text x="${at(x + 18)}" y="${at(TOP + i * 20 + 10)}" ${TEXT}>${escaped(name)}</text>`,
  ]);
}

function total({ parts }: Bar): number {
  return parts.reduce((sum, { value }) => sum + value, 0);
}

function at(value: number): string {
  return String(Math.round(value * 10) / 10);
}

function shown(value: number): string {
  return String(Number(value.toPrecision(3)));
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
