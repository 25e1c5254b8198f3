import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { ROOT } from '../../shared/service/repo-root';

/** What the alerts and the dashboards of deploy/ ask Prometheus. */

export interface Rule {
  alert: string;
  expr: string;
  labels: { severity: string };
  annotations: { summary: string; runbook_url: string };
}

export interface Dashboard {
  uid: string;
  panels: { id: number; title: string; targets?: { expr: string }[] }[];
}

export const ALERTS_FILE = join(ROOT, 'deploy/prometheus/alerts.yml');
const DASHBOARDS = join(ROOT, 'deploy/grafana/dashboards');

export function readRules(): Rule[] {
  const { groups } = parse(readFileSync(ALERTS_FILE, 'utf8')) as { groups: { rules: Rule[] }[] };
  return groups.flatMap(({ rules }) => rules);
}

export function readDashboards(): Dashboard[] {
  return readdirSync(DASHBOARDS).map((name) => JSON.parse(readFileSync(join(DASHBOARDS, name), 'utf8')) as Dashboard);
}

/** Each with the name of who asks it. */
export function queriesOf(rules: readonly Rule[], dashboards: readonly Dashboard[]): [who: string, expr: string][] {
  return [
    ...rules.map(({ alert, expr }): [string, string] => [alert, expr]),
    ...dashboards.flatMap(({ uid, panels }) =>
      panels.flatMap(({ title, targets = [] }) =>
        targets.map(({ expr }): [string, string] => [`${uid}: ${title}`, expr]),
      ),
    ),
  ];
}

/**
 * A query as it has an answer whenever there is something to judge: a condition is true or false instead of being empty
 * where all is well, what must not be absent is counted, and Grafana's interval is a time.
 */
export function answerable(expr: string, interval: string): string {
  const outside = expr.split(/("[^"]*"|\{[^}]*\})/);
  return outside
    .map((part, i) =>
      i % 2 === 1 ? part : part.replace(/ (>=|<=|==|!=|>|<) (?!bool )/g, ' $1 bool ').replace(/\babsent\(/g, 'count('),
    )
    .join('')
    .replaceAll('$__rate_interval', interval);
}
