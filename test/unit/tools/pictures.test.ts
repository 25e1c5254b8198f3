import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEvents } from '../../../services/control/history/parse-events';
import { ROOT } from '../../../shared/runtime/repo-root';
import { eventsOf, pastCalls, syncsOf } from '../../../tools/pictures/past';
import { CUSTOMERS, HOUR_MS, SOURCES } from '../../../tools/pictures/world';

const NOW = Date.parse('2026-11-27T18:00:00Z');

test('The guide shows every picture, and the tool takes each', () => {
  const guide = readFileSync(join(ROOT, 'docs', 'guide', 'console.md'), 'utf8');
  const tool = readFileSync(join(ROOT, 'tools', 'pictures', 'shots.ts'), 'utf8');
  for (const file of readdirSync(join(ROOT, 'docs', 'guide', 'console'))) {
    expect(guide).toContain(`(console/${file})`);
    expect(tool).toContain(`'${file.replace('.png', '')}'`);
  }
});

test('The past calls are of the last day, in order, and the history takes their events', () => {
  const calls = pastCalls(NOW);
  const times = calls.map(({ atMs }) => atMs);
  expect(times).toEqual([...times].sort((a, b) => a - b));
  expect(times[0]).toBeGreaterThanOrEqual(NOW - 24 * HOUR_MS);
  expect(times.at(-1)).toBeLessThan(NOW);
  const known = {
    nowMs: NOW,
    calls,
    sources: new Map(SOURCES.map((name, i) => [name, `src_${String(i)}`])),
    destinations: new Map(
      CUSTOMERS.map(({ name }, i) => [
        name,
        { id: `dst_${String(i)}`, webhooks: [{ id: `whk_${String(i)}` }] },
      ]),
    ),
    audience: 'aud_1',
    operator: { id: 'tok_1', name: 'Ada Wong' },
  };
  const syncs = syncsOf(known);
  expect(syncs.length).toBeGreaterThan(100);
  expect(syncs.at(-1)?.members).toBeGreaterThan(30);
  // A fifth of them has every kind, and takes no seconds.
  const events = calls.filter(({ i }) => i % 5 === 0).flatMap((call) => eventsOf(call, known));
  const unusable = events.filter((event) => {
    const record = { value: Buffer.from(JSON.stringify(event)), timestampMs: NOW };
    return parseEvents(record).includes(undefined);
  });
  expect(unusable).toEqual([]);
  // Each way a delivery may go is there.
  const kinds = new Set(events.map((event) => event.kind));
  expect(kinds).toEqual(new Set(['attempt', 'waiting', 'dead', 'circuit']));
});
