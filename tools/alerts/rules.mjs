// @ts-check
// The alerts and dashboards of k8s/components/prometheus, and what they query.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { workspaceRoot } from '../up/workspace.mjs';

/**
 * @typedef {object} Alert
 * @property {string} alert
 * @property {string} expr
 * @property {string} [for]
 * @property {{ severity: string }} labels
 * @property {{ summary: string, description: string, runbook_url: string }} annotations
 *
 * @typedef {{ name: string, rules: readonly Alert[] }} Group
 * @typedef {{ where: string, expression: string }} Expression where: an alert, or a panel of a dashboard
 */

const component = path.join(workspaceRoot, 'k8s/components/prometheus');
export const rulesFolder = path.join(component, 'rules');
export const testsFolder = path.join(rulesFolder, 'tests');
export const dashboardsFolder = path.join(component, 'dashboards');

/** @param {string} folder @param {string} extension */
const filesIn = (folder, extension) =>
  readdirSync(folder)
    .filter((name) => name.endsWith(extension) && name !== 'kustomization.yaml')
    .map((name) => path.join(folder, name));

/** @returns {readonly Group[]} as Prometheus reads them, without the object of the operator around them */
export function alertGroups() {
  return filesIn(rulesFolder, '.yaml').flatMap((file) => parse(readFileSync(file, 'utf8')).spec.groups);
}

/** @returns {readonly Alert[]} */
export const alerts = () => alertGroups().flatMap(({ rules }) => rules);

/** @returns {readonly Expression[]} */
export function dashboardExpressions() {
  return filesIn(dashboardsFolder, '.json').flatMap((file) => {
    /** @type {{ title: string, panels: { title: string, targets: { expr: string }[] }[] }} */
    const { title, panels } = JSON.parse(readFileSync(file, 'utf8'));
    return panels.flatMap((panel) =>
      panel.targets.map(({ expr }) => ({ where: `${title} / ${panel.title}`, expression: expr })),
    );
  });
}

/** @returns {readonly Expression[]} */
export const alertExpressions = () => alerts().map(({ alert, expr }) => ({ where: alert, expression: expr }));

const operators = new Set(['and', 'or', 'unless', 'bool', 'group_left', 'group_right']);

/**
 * The series that an expression reads, such as `http_requests_total{status=~"5.."}`.
 * @param {string} expression
 * @returns {readonly string[]}
 */
export function selectorsIn(expression) {
  const series = expression
    .replaceAll(/\b(by|without|on|ignoring)\s*\([^)]*\)/g, ' ')
    .replaceAll(/\boffset\s+\w+/g, ' ');
  const found = [...series.matchAll(/(?<![\w.])([a-zA-Z_:][\w:]*)((?:\{(?:"[^"]*"|[^}"])*\})?)\s*(\(?)/g)]
    .filter(([, name = '', , call]) => call === '' && !operators.has(name))
    .map(([, name = '', labels = '']) => name + labels);
  return [...new Set(found)];
}

/** @param {string} selector */
export const metricOf = (selector) => selector.split('{')[0] ?? '';
