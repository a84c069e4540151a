import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { parse } from 'yaml';
import { problems } from '../faults/alerts.mjs';
import { workspaceRoot } from '../up/workspace.mjs';
import { absentSeries } from './check-expressions.mjs';
import {
  alertExpressions,
  alertGroups,
  alerts,
  dashboardExpressions,
  dashboardsFolder,
  metricOf,
  rulesFolder,
  selectorsIn,
  testsFolder,
} from './rules.mjs';

const read = (...parts) => readFileSync(path.join(...parts), 'utf8');
const expressions = [...alertExpressions(), ...dashboardExpressions()];
const names = alerts().map(({ alert }) => alert);
const testFiles = readdirSync(testsFolder);
// The agent runs on customers' hosts; no Prometheus of the platform reads it.
const apps = readdirSync(path.join(workspaceRoot, 'apps')).filter((app) => app !== 'agent');

/** Of the kubelet, which each cluster has; there is none outside Kubernetes. */
const ofKubelet = ['kubelet_volume_stats_available_bytes', 'kubelet_volume_stats_capacity_bytes'];

/** Sources of the processes. */
function* sourcesIn(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const file = path.join(folder, entry.name);
    if (entry.isDirectory()) yield* sourcesIn(file);
    else if (file.endsWith('.ts') && !file.endsWith('.spec.ts')) yield readFileSync(file, 'utf8');
  }
}

/** The members of `const gauges = {…}`, whose keys are parts of names. */
const keysOfGauges = (source) =>
  [...(source.split('const gauges = {')[1]?.split('\n}')[0] ?? '').matchAll(/^ {2}(\w+): /gm)].map(
    ([, key]) => key,
  );

function metricsIn(source) {
  const registrations = source.matchAll(
    /new (Gauge|Counter|Histogram)\(\{\s*name: (?:'(\w+)'|`(\w+)\$\{name\}`|(\w+))/g,
  );
  return [...registrations].flatMap(([, kind, literal, prefix, constant]) => {
    const registered =
      literal !== undefined
        ? [literal]
        : prefix !== undefined
          ? keysOfGauges(source).map((key) => prefix + key)
          : [new RegExp(`const ${constant} = '(\\w+)'`).exec(source)?.[1]];
    return kind === 'Histogram'
      ? registered.flatMap((name) => ['_bucket', '_sum', '_count'].map((suffix) => name + suffix))
      : registered;
  });
}

async function exportedMetrics() {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const found = new Set(registry.getMetricsAsArray().map(({ name }) => name));
  for (const folder of ['apps', 'libs'])
    for (const source of sourcesIn(path.join(workspaceRoot, folder)))
      for (const name of metricsIn(source)) found.add(name);
  return found;
}

describe('alerts', () => {
  it('are more than twenty, each with a name of its own', () => {
    expect(new Set(names).size).toBe(names.length);
    expect(names.length).toBeGreaterThan(20);
  });

  it('have a severity, a summary, a description and the address of their section', () => {
    for (const { alert, labels, annotations } of alerts()) {
      expect(labels.severity).toMatch(/^(critical|warning)$/);
      expect([annotations.summary, annotations.description]).toEqual([
        expect.stringMatching(/\w+/),
        expect.stringMatching(/\.$/),
      ]);
      expect(annotations.runbook_url).toMatch(
        new RegExp(`^https://.*/docs/runbooks/alerts\\.md#${alert.toLowerCase()}$`),
      );
    }
  });

  it('watch every process for copies', () => {
    const watched = alertExpressions().flatMap(({ expression }) =>
      [...expression.matchAll(/absent\(certwright_ready\{process="([\w-]+)"\}\)/g)].map(([, name]) => name),
    );
    expect(watched.sort()).toEqual([...apps].sort());
  });
});

describe('the rules and dashboards', () => {
  it('are listed in the components', () => {
    const listed = (folder) => JSON.stringify(parse(read(folder, 'kustomization.yaml')));
    for (const folder of [rulesFolder, dashboardsFolder])
      for (const file of readdirSync(folder).filter((name) =>
        /^(?!kustomization).*\.(yaml|json)$/.test(name),
      ))
        expect(listed(folder)).toContain(`"${file}"`);
  });

  it('read only metrics that a process exports', async () => {
    const exported = await exportedMetrics();
    const read = expressions.flatMap(({ expression }) => selectorsIn(expression)).map(metricOf);
    expect([...new Set(read)].filter((metric) => !exported.has(metric))).toEqual(ofKubelet);
  });

  it('never add up a gauge that every copy reads from the database', () => {
    // Counters, rates, and the two gauges that each copy counts itself.
    const mayBeAdded = /^(rate|increase|max|certwright_waiting_polls|certwright_ready|\w+_total)$/;
    for (const { expression } of expressions)
      for (const [, added] of expression.matchAll(/\bsum\s*(?:by \([^)]*\)\s*)?\((\w+)/g))
        expect(added).toMatch(mayBeAdded);
  });

  it('have no exception that they do not need', () => {
    const read = new Set(expressions.flatMap(({ expression }) => selectorsIn(expression)));
    expect([...absentSeries.keys()].filter((selector) => !read.has(selector))).toEqual([]);
    for (const reason of absentSeries.values()) expect(reason).toMatch(/\w+ \w+/);
  });

  it('finds the series of an expression', () => {
    expect(
      selectorsIn('sum by (a) (rate(x_total{b=~"5..|{}"}[5m])) / max(y offset 1h) > 2.5 or absent(z{c="d"})'),
    ).toEqual(['x_total{b=~"5..|{}"}', 'y', 'z{c="d"}']);
  });
});

describe('the runbook', () => {
  const runbook = read(workspaceRoot, 'docs/runbooks/alerts.md');
  const sections = new Map(
    runbook
      .split('\n## ')
      .slice(1)
      .map((text) => [text.split('\n')[0], text]),
  );

  it('has a section for each alert, and no other', () => {
    expect([...sections.keys()].sort()).toEqual([...names].sort());
  });

  it.each(names)('says of %s what it means, what users notice, what to look at and how to fix it', (name) => {
    const section = sections.get(name);
    for (const part of ['Meaning.', 'What users notice.', 'Look at:', 'Fix.', 'Provoke.'])
      expect(section).toMatch(new RegExp(`\\*\\*${part}\\*\\*\\s+\\S`));
    expect(section).toMatch(/```sh\n(kubectl|npm run|psql|redis-cli|chronyc)/);
  });

  it('says which alerts the command provokes', () => {
    const said = [...sections].filter(([, text]) => text.includes('`npm run faults -- alerts`'));
    expect(said.map(([name]) => name).sort()).toEqual(problems.flatMap((each) => each.alerts).sort());
  });
});

describe('the tests of the alerts', () => {
  const tests = testFiles.flatMap((file) => parse(read(testsFolder, file)).tests);

  it.each(names)('%s fires, and stays silent', (name) => {
    const of = (what) => {
      const [found] = tests.filter((test) => test.name === `${name} ${what}`);
      return found?.alert_rule_test.map(({ alertname, exp_alerts }) => [alertname, exp_alerts.length]);
    };
    expect(of('fires')).toEqual([[name, 1]]);
    expect(of('stays silent')).toEqual([[name, 0]]);
  });

  const isInstalled = spawnSync('promtool', ['--version']).status === 0;
  if (!isInstalled)
    console.warn('Skipped: the tests of the alerts need promtool; run tools/test/peers.sh as root.');
  (isInstalled ? describe : describe.skip)('with promtool', () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'alert-tests-'));
    afterAll(() => rmSync(folder, { recursive: true, force: true }));
    const promtool = (...args) => {
      const { status, stdout, stderr } = spawnSync('promtool', args, { cwd: folder, encoding: 'utf8' });
      return { status, output: stdout + stderr };
    };
    beforeAll(() => {
      writeFileSync(path.join(folder, 'rules.yaml'), JSON.stringify({ groups: alertGroups() }));
      for (const file of testFiles) copyFileSync(path.join(testsFolder, file), path.join(folder, file));
    });

    it('the rules are valid', () => {
      expect(promtool('check', 'rules', 'rules.yaml')).toMatchObject({ status: 0 });
    });

    it.each(testFiles)('%s succeeds', (file) => {
      expect(promtool('test', 'rules', file)).toEqual({
        status: 0,
        output: expect.stringContaining('SUCCESS'),
      });
    });

    it('a rule with another threshold fails its test', () => {
      const text = JSON.stringify({ groups: alertGroups() }).replaceAll('> 120', '> 12000');
      writeFileSync(path.join(folder, 'rules.yaml'), text);
      expect(promtool('test', 'rules', 'issuance.test.yaml').status).toBe(1);
    });
  });
});
