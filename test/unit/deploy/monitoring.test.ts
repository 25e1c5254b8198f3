import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../../shared/root';
import { read, readYaml } from './files';

/** Alerts and dashboards ask for metrics that there are, and each alert leads to a page that says what to do. */

interface Rule {
  alert: string;
  expr: string;
  labels: { severity: string };
  annotations: { summary: string; runbook_url: string };
}
const rules = readYaml<{ groups: { rules: Rule[] }[] }>('deploy/prometheus/alerts.yml').groups.flatMap((g) => g.rules);

interface Dashboard {
  uid: string;
  panels: { id: number; title: string; targets?: { expr: string }[] }[];
}
const DASHBOARDS = 'deploy/grafana/dashboards';
const dashboards = readdirSync(join(ROOT, DASHBOARDS)).map(
  (name) => JSON.parse(read(join(DASHBOARDS, name))) as Dashboard,
);

const queries = [
  ...rules.map(({ alert, expr }) => [alert, expr] as const),
  ...dashboards.flatMap(({ uid, panels }) =>
    panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => [`${uid}: ${title}`, expr] as const)),
  ),
];

/** docs/telemetry.md names each metric with its labels, in its tables. */
const known = new Map(
  [...read('docs/telemetry.md').matchAll(/^\| `([a-z0-9_]+)` +\| `[a-z0-9._]+` +\|[^|]*\|([^|]*)\|/gm)].map(
    ([, name, labels]) => [name!, [...labels!.matchAll(/`([a-z_]+)`/g)].map(([, label]) => label!)] as const,
  ),
);

test.each(queries)('%s', (_, expr) => {
  const names = metricsOf(expr);
  expect(names.length).toBeGreaterThan(0);
  expect(names.filter((name) => !known.has(name))).toEqual([]);
  for (const [, name, selector] of expr.matchAll(/(\w+)\{([^}]*)\}/g)) {
    const labels = [...EVERYWHERE, ...known.get(metric(name!))!];
    expect(labels).toEqual(expect.arrayContaining(selector!.match(/\w+(?=[=!]~?")/g) ?? []));
  }
});
/** Of each process, and of each bucket. */
const EVERYWHERE = ['service', 'instance', 'le'];

test.each(rules)('$alert says what to do', ({ alert, labels, annotations }) => {
  expect(['page', 'ticket']).toContain(labels.severity);
  expect(annotations.runbook_url).toBe(`docs/operations.md#${alert.toLowerCase()}`);
  expect(read('docs/operations.md')).toMatch(new RegExp(`^### ${alert}$`, 'm'));
  expect(read('deploy/prometheus/alerts.test.yml')).toContain(`alertname: ${alert}\n`);
});

test('no page is about an alert that is gone', () => {
  const pages = read('docs/operations.md').match(/(?<=^### )Waypost[A-Z]\w+$/gm);
  expect(pages?.toSorted()).toEqual(rules.map(({ alert }) => alert).toSorted());
});

test('dashboards are told apart, and so are their panels', () => {
  expect(new Set(dashboards.map(({ uid }) => uid)).size).toBe(dashboards.length);
  for (const { panels } of dashboards) expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
});

/** The names of metrics in PromQL: what is a name and is neither a function nor a label. */
function metricsOf(expr: string): string[] {
  const bare = expr
    .replace(/"[^"]*"/g, '')
    .replace(/\{[^}]*\}/g, '')
    .replace(/\b(?:by|without) \([^)]*\)/g, '');
  const names = bare.match(/\b(?:waypost|messaging|http|process|nodejs|v8js)_\w+/g) ?? [];
  return names.map(metric);
}

/** A histogram has three names. */
function metric(name: string): string {
  return name.replace(/_(bucket|sum|count)$/, '');
}
