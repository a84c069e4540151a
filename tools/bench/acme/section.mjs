import os from 'node:os';
import { table } from '../report.mjs';

const titles = {
  ours: '**our client**',
  'ours-waiting': '**our client, with `Retry-After`**, without blocking a worker',
  'acme-client': 'acme-client 5.4.0',
  lego: 'lego, one process per certificate',
  certbot: 'certbot, one process per certificate',
};

/** @param {{ runs: readonly { nonceReject: number, results: Map<string, { issued: number, problems: string[], seconds: number, cpuMs: number }> }[], count: number, concurrency: number }} measured */
export function section({ runs, count, concurrency }) {
  const names = [...(runs[0]?.results.keys() ?? [])];
  const cpuOf = ({ results }, name) => {
    const { issued, cpuMs } = results.get(name) ?? { issued: 0, cpuMs: 0 };
    return issued === 0 ? Infinity : cpuMs / issued;
  };
  const rows = names.map((name) => [
    titles[name] ?? name,
    ...runs.flatMap((run) => {
      const result = run.results.get(name);
      if (result === undefined) return ['–', '–', '–', '–'];
      const cpu = cpuOf(run, name);
      return [
        (result.issued / result.seconds).toFixed(1),
        Number.isFinite(cpu) ? cpu.toFixed(1) : '–',
        Number.isFinite(cpu) ? `${(cpu / cpuOf(run, names[0])).toFixed(1)}` : '–',
        String(result.problems.length),
      ];
    }),
  ]);
  const head = runs.flatMap(({ nonceReject: percent }) => [
    `per second, ${percent} % of nonces refused`,
    'client’s CPU, ms each',
    'relative to ours',
    `failed of ${count}`,
  ]);
  const text = `## ACME

${machine()}; pebble on the same cores, ${count} certificates per client, one name and one dns-01 each, ${concurrency} orders at a time,
alternating within one run; CSRs were created before. CPU is that of the client and its children (user and system), without pebble.
Clients with a configurable interval poll after 20 ms, doubled up to 160 ms; lego and certbot use their own intervals.

${table([['client', ...head], ...rows])}${problemsOf(runs)}`;
  return { name: 'acme', text };
}

/** The first failure of each client. */
function problemsOf(runs) {
  const lines = runs.flatMap(({ nonceReject, results }) =>
    [...results]
      .filter(([, { problems }]) => problems.length > 0)
      .map(([name, { problems }]) => `- ${name}, ${nonceReject} %: ${tidy(problems[0])}`),
  );
  return lines.length === 0 ? '' : `\n\nFirst failure of each client:\n\n${lines.join('\n')}`;
}

const tidy = (problem) =>
  problem
    .replace(/\s+/g, ' ')
    .replace(/https:\/\/\S+/g, '(URL)')
    .slice(0, 160);

function machine() {
  const [{ model }] = os.cpus();
  return `${os.cpus().length} cores (${model.trim()}), Node ${process.version}`;
}

/** @param {{ seconds: number, cpu: Record<string, number>, count: number }} measured @param {number} concurrency */
export function platformSection({ seconds, cpu, count }, concurrency) {
  const ms = (spent) => ((spent * 1_000) / count).toFixed(1);
  const total = Object.values(cpu).reduce((sum, spent) => sum + spent, 0);
  const rows = Object.entries(cpu).map(([name, spent]) => [name, ms(spent)]);
  const text = `## The platform with a public CA

${machine()}. \`npm run bench -- acme --only platform\`: pebble, which validates through a resolver, on the same cores. ${count} orders of
${concurrency} clients, approved, validated through approval-responder, issued and attached, with ${concurrency} concurrent jobs and every
\`Retry-After\` respected, two of 1 s each: **${(count / seconds).toFixed(1)} certificates per second**.

${table([['CPU per certificate', 'ms'], ...rows, ['**whole platform**', `**${ms(total)}**`]])}`;
  return { name: 'acme platform', text };
}
