// What `npm start` costs: time until everything is ready, CPU of each process until then, and memory of each at rest; beside
// another checkout, such as that of an earlier commit, in turns.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { workspaceRoot } from '../../build/bundle.mjs';
import { cpuSeconds } from '../cpu-time.mjs';
import { table } from '../report.mjs';

const usage = `npm run bench -- rest [--beside FOLDER] [--turns N]

  --beside FOLDER  another checkout with installed packages, which is measured in turns with this one
  --turns N        default 3; the first start of each checkout, which builds, is not counted`;
const portOffset = '600';
const atRestMs = 20_000;
const startWithinMs = 300_000;

export async function rest(args) {
  const options = {
    beside: { type: 'string' },
    turns: { type: 'string', default: '3' },
    help: { type: 'boolean' },
  };
  const { values } = parseArgs({ args, options });
  if (values.help) return void console.log(usage);
  const checkouts = [workspaceRoot, ...(values.beside === undefined ? [] : [path.resolve(values.beside)])];
  const runs = new Map(checkouts.map((checkout) => [checkout, []]));
  for (let turn = 0; turn <= Number(values.turns); turn += 1)
    for (const checkout of checkouts) {
      const run = await measured(checkout);
      console.log(`${checkout}: ready after ${run.readyS.toFixed(1)} s${turn === 0 ? ' (not counted)' : ''}`);
      if (turn > 0) runs.get(checkout).push(run);
    }
  const [own, other] = checkouts.map((checkout) => medianOf(runs.get(checkout)));
  return { name: 'rest', text: section(own, other, values.turns) };
}

/** @param {string} checkout */
async function measured(checkout) {
  const begunMs = performance.now();
  const child = spawn(process.execPath, ['tools/up/start.mjs'], {
    cwd: checkout,
    env: { ...process.env, PORT_OFFSET: portOffset },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  try {
    await ready(child);
    const readyS = (performance.now() - begunMs) / 1_000;
    const pids = runningIn(checkout);
    const cpu = new Map([...pids].map(([name, pid]) => [name, cpuSeconds(pid)]));
    await delay(atRestMs);
    const processes = [...pids].map(([name, pid]) => [name, { cpuS: cpu.get(name), ...memoryOf(pid) }]);
    return { readyS, processes: new Map(processes) };
  } finally {
    child.kill('SIGINT');
    await ended;
  }
}

/** Until `npm start` prints what to do next. */
async function ready(child) {
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (part) => (text += part));
  const ended = once(child, 'exit').then(() => Promise.reject(new Error(`npm start has ended:\n${text}`)));
  const said = async () => {
    const lastMs = performance.now() + startWithinMs;
    while (!text.includes('To issue a first certificate')) {
      if (performance.now() > lastMs) throw new Error(`npm start takes too long:\n${text}`);
      await delay(20);
    }
  };
  ended.catch(() => undefined);
  await Promise.race([ended, said()]);
}

/** @returns {Map<string, number>} app → pid */
function runningIn(checkout) {
  const folder = path.join(checkout, '.certwright/run');
  const apps = readdirSync(folder).flatMap((file) => /^(.*)\.pid$/.exec(file)?.[1] ?? []);
  const own = apps.filter((app) => existsSync(path.join(checkout, 'apps', app)));
  return new Map(own.map((app) => [app, Number(readFileSync(path.join(folder, `${app}.pid`), 'utf8'))]));
}

/** In MB. Pages of Node.js itself are shared: proportional memory divides them among the processes. */
function memoryOf(pid) {
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  const megabytes = (field) => Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(rollup)?.[1]) / 1_000;
  return { residentMb: megabytes('Rss'), proportionalMb: megabytes('Pss') };
}

function medianOf(runs) {
  const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
  const names = [...runs[0].processes.keys()].sort();
  const of = (name, what) => median(runs.map(({ processes }) => processes.get(name)[what]));
  const processes = names.map((name) => [
    name,
    Object.fromEntries(['cpuS', 'residentMb', 'proportionalMb'].map((what) => [what, of(name, what)])),
  ]);
  return { readyS: median(runs.map(({ readyS }) => readyS)), processes: new Map(processes) };
}

function section(own, other, turns) {
  const both = (what, digits) => (name) => {
    const [now, before] = [own, other].map((each) => each?.processes.get(name)?.[what]);
    return before === undefined ? [now.toFixed(digits)] : [before.toFixed(digits), now.toFixed(digits)];
  };
  const [cpu, resident, proportional] = [both('cpuS', 2), both('residentMb', 0), both('proportionalMb', 0)];
  const heads = (what) => (other === undefined ? [what] : [`${what}, before`, `${what}, now`]);
  const names = [...own.processes.keys()];
  const rows = names.map((name) => [name, ...cpu(name), ...resident(name), ...proportional(name)]);
  const sum = (run, what) => [...run.processes.values()].reduce((total, each) => total + each[what], 0);
  const sums = ['cpuS', 'residentMb', 'proportionalMb'].flatMap((what) =>
    [other, own].flatMap((run) => (run === undefined ? [] : [`**${sum(run, what).toFixed(1)}**`])),
  );
  const start =
    other === undefined
      ? `\`npm start\` is ready after ${own.readyS.toFixed(1)} s.`
      : `\`npm start\` is ready after ${own.readyS.toFixed(1)} s; the other checkout after ${other.readyS.toFixed(1)} s.`;
  return `## Processes at rest

Median of ${turns} starts, in turns. CPU: seconds until \`npm start\` says that everything is ready. Memory: MB, ${atRestMs / 1_000} s later. Resident
memory counts the pages of Node.js itself (some 55 MB) for every process; proportional memory divides them among the processes.
${start}

${table([['process', ...heads('CPU s'), ...heads('resident'), ...heads('proportional')], ...rows, ['**together**', ...sums]])}
`;
}
