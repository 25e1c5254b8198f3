/**
 * Draws time series as an SVG. Readable on light and dark pages, because it follows the reader's
 * preference. Pure.
 */

export interface Line {
  name: string;
  sliceMs: number;
  values: number[];
}

export interface Plot {
  title: string;
  /** of the values, on an axis of powers of ten */
  unit: string;
  lines: Line[];
}

const WIDTH = 760;
const HEIGHT = 360;
const LEFT = 70;
const RIGHT = 20;
const TOP = 50;
const BOTTOM = 50;
/** A series has no more points: beyond that each point is the maximum of several. */
const MOST_POINTS = 180;
const STYLE = `
    text { font: 13px system-ui, sans-serif; fill: #24292f } .grid { stroke: #d0d7de } .line { fill: none; stroke-width: 2 }
    .c0 { stroke: #0969da } .c1 { stroke: #bc4c00 } text.c0 { fill: #0969da; stroke: none } text.c1 { fill: #bc4c00; stroke: none }
    @media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .grid { stroke: #30363d } .c0 { stroke: #58a6ff }
    .c1 { stroke: #ffa657 } text.c0 { fill: #58a6ff } text.c1 { fill: #ffa657 } }`;

export function draw({ title, unit, lines }: Plot): string {
  const mostMs = Math.max(...lines.map(({ values, sliceMs }) => values.length * sliceMs));
  const decades = Math.max(
    1,
    Math.ceil(Math.log10(Math.max(...lines.flatMap(({ values }) => values), 10))),
  );
  const x = (ms: number) => LEFT + (ms / mostMs) * (WIDTH - LEFT - RIGHT);
  const y = (value: number) =>
    HEIGHT - BOTTOM - (Math.log10(Math.max(1, value)) / decades) * (HEIGHT - TOP - BOTTOM);
  const parts = [
    `<title>${title}</title>`,
    `<style>${STYLE}</style>`,
    text(LEFT, 20, title),
    text(LEFT, 38, `${unit}, by virtual minutes`),
    ...Array.from({ length: decades + 1 }, (_, i) =>
      grid(y(10 ** i), (10 ** i).toLocaleString('en-US')),
    ),
    ...minutes(mostMs / 60_000).map((minute) =>
      text(x(minute * 60_000), HEIGHT - BOTTOM + 20, String(minute)),
    ),
    ...lines.map(({ values, sliceMs }, i) => {
      const points = thinned(values, sliceMs).map(
        ([ms, value]) => `${x(ms).toFixed(1)},${y(value).toFixed(1)}`,
      );
      return `<polyline class="line c${String(i)}" points="${points.join(' ')}"/>`;
    }),
    ...lines.map(({ name }, i) => text(LEFT + i * 240, HEIGHT - 10, `━ ${name}`, `c${String(i)}`)),
  ];
  const size =
    `viewBox="0 0 ${String(WIDTH)} ${String(HEIGHT)}" width="${String(WIDTH)}" ` +
    `height="${String(HEIGHT)}"`;
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img">\n  ` +
    `${parts.join('\n  ')}\n</svg>\n`
  );
}

/** Returns the maximum of each group, with its time. */
function thinned(values: number[], sliceMs: number): [number, number][] {
  const each = Math.ceil(values.length / MOST_POINTS);
  return Array.from({ length: Math.ceil(values.length / each) }, (_, i) => [
    i * each * sliceMs,
    Math.max(...values.slice(i * each, (i + 1) * each)),
  ]);
}

function minutes(most: number): number[] {
  const step = [1, 2, 5, 10, 20, 30, 60].find((candidate) => most / candidate <= 8) ?? 120;
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, i) => i * step);
}

function grid(y: number, name: string): string {
  const at = y.toFixed(1);
  const line =
    `<line class="grid" x1="${String(LEFT)}" x2="${String(WIDTH - RIGHT)}" y1="${at}" ` +
    `y2="${at}"/>`;
  return (
    `${line}<text x="${String(LEFT - 8)}" y="${(y + 4).toFixed(1)}" ` +
    `text-anchor="end">${name}</text>`
  );
}

function text(x: number, y: number, what: string, name?: string): string {
  return (
    `<text x="${x.toFixed(1)}" ` +
    `y="${String(y)}"${name === undefined ? '' : ` class="${name}"`}>${what}</text>`
  );
}
