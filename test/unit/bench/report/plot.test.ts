import { axisTop, barPlot } from '../../../../tools/bench/report/plots';

describe('the end of an axis', () => {
  test.each([
    [0, 1],
    [0.3, 0.5],
    [1, 1],
    [11.2, 20],
    [37, 50],
    [51, 100],
    [NaN, 1],
  ])('for %d is %d', (value, top) => expect(axisTop(value)).toBe(top));
});

describe('a plot', () => {
  const bars = [
    { label: 'clean', parts: [{ name: 'a & b', value: 10 }] },
    {
      label: '50 %',
      parts: [
        { name: 'a & b', value: 10 },
        { name: 'c', value: 30 },
      ],
    },
  ];
  const svg = barPlot({ title: 'p99 <healthy>', unit: 'ms', bars });
  const heights = [...svg.matchAll(/height="([\d.]+)" fill="#(?!fff)[0-9a-f]{6}"><title>/g)].map(
    ([, h]) => Number(h),
  );

  test('draws each part as high as its value', () => {
    expect(heights).toEqual([50, 50, 150]);
  });

  test('stacks them', () => {
    const [low, high] = [
      ...svg.matchAll(/y="([\d.]+)" width="[\d.]+" height="([\d.]+)" fill="#\w{6}"><title>/g),
    ].slice(1);
    expect(Number(high?.[1]) + Number(high?.[2])).toBe(Number(low?.[1]));
  });

  test('says the total of each bar, and names the parts', () => {
    expect(svg).toMatch(/>40<\/text>/);
    expect(svg).toMatch(/>c<\/text>/);
  });

  test('is well-formed whatever the words are', () => {
    expect(svg).toMatch(/p99 &lt;healthy&gt;/);
    expect(svg).toMatch(/a &amp; b/);
    expect(svg).not.toMatch(/NaN|undefined/);
  });

  test('has no legend for one kind of bar', () =>
    expect(barPlot({ title: 't', unit: 'ms', bars: bars.slice(0, 1) })).not.toMatch(
      />a &amp; b<\/text>/,
    ));
});
