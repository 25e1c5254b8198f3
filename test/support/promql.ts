import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { ROOT } from '../../shared/runtime/repo-root';

/** Reads the Prometheus queries of the alerts and dashboards of deploy/. */

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

const ALERTS_FILE = join(ROOT, 'deploy/prometheus/alerts.yml');
const DASHBOARDS = join(ROOT, 'deploy/grafana/dashboards');

export function readRules(): Rule[] {
  const { groups } = parse(readFileSync(ALERTS_FILE, 'utf8')) as { groups: { rules: Rule[] }[] };
  return groups.flatMap(({ rules }) => rules);
}

export function readDashboards(): Dashboard[] {
  return readdirSync(DASHBOARDS).map(
    (name) => JSON.parse(readFileSync(join(DASHBOARDS, name), 'utf8')) as Dashboard,
  );
}

/** Returns each query with the name of its alert or panel. */
export function queriesOf(
  rules: readonly Rule[],
  dashboards: readonly Dashboard[],
): [who: string, expr: string][] {
  return [
    ...rules.map(({ alert, expr }): [string, string] => [alert, expr]),
    ...dashboards.flatMap(({ uid, panels }) =>
      panels.flatMap(({ title, targets = [] }) =>
        targets.map(({ expr }): [string, string] => [`${uid}: ${title}`, expr]),
      ),
    ),
  ];
}
