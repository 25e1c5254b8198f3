import { queriesOf, readDashboards, readRules } from '../../support/promql';
import { read } from './files';

/** Alerts and dashboards query existing metrics, and each alert links to a page with the remedy. */

const rules = readRules();
const dashboards = readDashboards();
const queries = queriesOf(rules, dashboards);

/** The tables of docs/reference/metrics.md list each metric with its labels. */
const known = new Map(
  [
    ...read('docs/reference/metrics.md').matchAll(
      /^\| `([a-z0-9_]+)` +\| `[a-z0-9._]+` +\|[^|]*\|([^|]*)\|/gm,
    ),
  ].map(
    ([, name, labels]) =>
      [name!, [...labels!.matchAll(/`([a-z_]+)`/g)].map(([, label]) => label!)] as const,
  ),
);

test.each(queries)('the query of %s uses existing metrics and labels', (_, expr) => {
  const names = metricsOf(expr);
  expect(names.length).toBeGreaterThan(0);
  expect(names.filter((name) => !known.has(name))).toEqual([]);
  for (const [, name, selector] of expr.matchAll(/(\w+)\{([^}]*)\}/g)) {
    const labels = [...EVERYWHERE, ...known.get(metric(name!))!];
    expect(labels).toEqual(expect.arrayContaining(selector!.match(/\w+(?=[=!]~?")/g) ?? []));
  }
});
/** Labels of each process, and of each bucket. */
const EVERYWHERE = ['service', 'instance', 'le'];

test.each(rules)('the alert $alert links to its remedy', ({ alert, labels, annotations }) => {
  expect(['page', 'ticket']).toContain(labels.severity);
  expect(annotations.runbook_url).toBe(`docs/operations/alerts.md#${alert.toLowerCase()}`);
  expect(read('docs/operations/alerts.md')).toMatch(new RegExp(`^### ${alert}$`, 'm'));
  expect(read('deploy/prometheus/alerts.test.yml')).toContain(`alertname: ${alert}\n`);
});

test('every alert on the page of remedies exists', () => {
  const pages = read('docs/operations/alerts.md').match(/(?<=^### )Waypost[A-Z]\w+$/gm);
  expect(pages?.toSorted()).toEqual(rules.map(({ alert }) => alert).toSorted());
});

test('dashboards have distinct uids, and their panels distinct ids', () => {
  expect(new Set(dashboards.map(({ uid }) => uid)).size).toBe(dashboards.length);
  for (const { panels } of dashboards) {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  }
});

/** Returns the names of metrics in PromQL: every name except functions and labels. */
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
