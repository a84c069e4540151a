// Reads of one object and writes of orders over HTTP, beside a response without database from the same process, in turns; with
// another checkout, such as that of an earlier commit, in the same turns. Runs without a worker, so nothing is issued.
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { bundle, workspaceRoot } from '../../build/bundle.mjs';
import { freePort, LOOPBACK } from '../../embedded/ports.mjs';
import { cpuSeconds } from '../cpu-time.mjs';
import { certificationRequest, subjectOf } from '../issuance/certification-requests.mjs';
import { startPlatform } from '../issuance/platform.mjs';
import { table } from '../report.mjs';
import { Clients, requestBytes } from './http-clients.mjs';

const usage = `npm run bench -- requests [--beside FOLDER] [--turns N] [--only PATTERN] [--keep]

  --beside FOLDER  another checkout with installed packages, which is measured in turns with this one
  --turns N        default 9; each row runs for 0.4 s of a turn
  --only PATTERN   only rows and loads whose label matches it; docs/benchmarks.md stays as it is
  --keep           prints the processes and waits, for a profiler`;

const inFlight = 16;
const turnMs = 400;
const loadMs = 5_000;
const name = 'bench.example.com';
const apps = {
  'orders-v3': '/api/v3',
  'certs-v2': '/api/v2',
  'ct-search': '/v1',
  monitoring: '/api/monitoring',
};

export async function requests(args) {
  const options = {
    beside: { type: 'string' },
    turns: { type: 'string', default: '9' },
    only: { type: 'string', default: '' },
    keep: { type: 'boolean' },
    help: { type: 'boolean' },
  };
  const { values } = parseArgs({ args, options });
  if (values.help) return void console.log(usage);
  const platform = await startPlatform({ say: (line) => console.log(line), concurrency: '1' });
  try {
    process.kill(platform.pids['issuance-worker'], 'SIGSTOP');
    const checkouts = [workspaceRoot, ...(values.beside === undefined ? [] : [path.resolve(values.beside)])];
    const processes = await startApps(platform, checkouts);
    const instance = await prepare(platform, processes);
    if (values.keep) await kept(processes, instance);
    const only = new RegExp(values.only);
    const wanted = ({ what, app }) => only.test(`${app} ${what}`);
    const rows = rowsOf(instance).filter(wanted);
    const measured = await inTurns(platform, processes, rows, Number(values.turns));
    const loaded = await underLoad(processes, loads().filter(wanted));
    const result = section({ checkouts, rows, measured, loaded, turns: values.turns });
    if (values.only === '') return result;
    console.log(result.text);
    return undefined;
  } finally {
    process.kill(platform.pids['issuance-worker'], 'SIGCONT');
    await platform.stop();
  }
}

/** @returns {Promise<{ app: string, checkout: string, pid: number, target: object }[]>} */
async function startApps(platform, checkouts) {
  const ctUrl = platform.databaseUrl.replace(/[^/]+$/, 'ct');
  const common = {
    ...platform.environment,
    CT_DATABASE_URL: ctUrl,
    READS_PER_S: '100000',
    WRITES_PER_S: '100000',
    SEALING_KEYS: Buffer.alloc(32, 7).toString('base64'),
  };
  await platform.toolWith(common, 'dist/tools/migrate', '--create');
  const started = [];
  for (const checkout of checkouts)
    for (const app of Object.keys(apps)) {
      const folder = path.join(checkout, 'dist/apps', app);
      await bundleOf(checkout, app);
      const [port, ops] = [await freePort(), await freePort()];
      const label = checkout === workspaceRoot ? `${app} now` : `${app} before`;
      const env = { ...common, PORT: String(port), OPS_PORT: String(ops), OPS_HOST: LOOPBACK };
      const ready = `http://${LOOPBACK}:${ops}/readyz`;
      await platform.start(label, path.relative(workspaceRoot, folder), env, ready);
      const headers = { authorization: `Bearer ${platform.apiKey}` };
      const target = { host: LOOPBACK, port, headers };
      started.push({ app, checkout, pid: platform.pids[label], target });
    }
  return started;
}

/** With the build of that checkout. */
async function bundleOf(checkout, app) {
  const main = `apps/${app}/src/main.ts`;
  if (checkout === workspaceRoot) return await bundle({ main }, `dist/apps/${app}`);
  const script = `import('./tools/build/bundle.mjs').then(({ bundle }) => bundle({ main: '${main}' }, 'dist/apps/${app}'))`;
  const { status, stderr } = spawnSync(process.execPath, ['-e', script], { cwd: checkout });
  if (status !== 0) throw new Error(`${checkout} cannot be built: ${stderr}`);
}

/** One order, one certificate object and one instance of it. @returns {Promise<string>} id of the instance */
async function prepare({ api, apiKey }, processes) {
  const csr = certificationRequest(name, subjectOf(name));
  const post = async (url, body) => {
    const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`${url}: ${await response.text()}`);
    return await response.json();
  };
  await post(`${api}/api/v3/orders`, order(name, csr));
  const { target } = processes.find(({ app }) => app === 'certs-v2');
  const certs = `http://${target.host}:${target.port}/api/v2/certs/${name}`;
  await post(certs, { approval_method: 'dns', sans: [], csr: pem(csr) });
  return (await post(`${certs}/buy`, {})).id;
}

const pem = (base64) =>
  `-----BEGIN CERTIFICATE REQUEST-----\n${base64.replace(/.{64}/g, '$&\n')}\n-----END CERTIFICATE REQUEST-----\n`;

const order = (orderName, csr) => ({ name: orderName, dns_names: [name], csr });

async function kept(processes, instance) {
  for (const { app, checkout, pid, target } of processes)
    console.log(`${app} ${checkout} ${pid} ${target.port}`);
  console.log(`instance ${instance}`);
  console.log(`authorization: ${processes[0].target.headers.authorization}`);
  await new Promise((resolve) => process.once('SIGINT', resolve));
}

/** `floor` is the label of the row without database. */
function rowsOf(instance) {
  const get = (app, what, at, floor, status = 200) => ({
    app,
    what,
    floor,
    status,
    bytes: (target) => requestBytes(target, 'GET', `${apps[app]}${at}`),
  });
  const none = 'an address without a route';
  const templates = 'a response without database';
  return [
    ...Object.keys(apps).map((app) => get(app, none, '/nothing-here', none, 404)),
    get('certs-v2', templates, '/config_templates', templates),
    get('certs-v2', 'an object', `/certs/${name}`, templates),
    get(
      'certs-v2',
      'an object with current, pending and CSR',
      `/certs/${name}?expand=current&expand=pending&expand=csr`,
      templates,
    ),
    get('certs-v2', 'an instance', `/certs/${name}/instances/${instance}`, templates),
    get('orders-v3', 'an order', `/orders/${name}`, none),
    { app: 'orders-v3', what: 'POST of an order', floor: none, status: 201, bytes: posts() },
  ];
}

let posted = 0;
function posts() {
  const csr = certificationRequest(name, subjectOf(name));
  return (target) => {
    const body = JSON.stringify(order(`order ${(posted += 1)}`, csr));
    return requestBytes(target, 'POST', '/api/v3/orders', body);
  };
}

/** All rows of all checkouts in each turn. @returns {Promise<Map<object, Map<string, object>>>} row → checkout → figures */
async function inTurns(platform, processes, rows, turns) {
  const runs = rows.flatMap((row) =>
    processes
      .filter(({ app }) => app === row.app)
      .map((each) => ({
        row,
        ...each,
        rates: [],
        count: 0,
        cpuS: 0,
        databaseS: 0,
        clients: new Clients(each.target, inFlight),
      })),
  );
  for (let turn = -1; turn < turns; turn += 1)
    for (const run of runs) {
      const { row, target, clients, pid } = run;
      const text = row.what.startsWith('POST') ? null : row.bytes(target);
      const next = () => text ?? row.bytes(target);
      const [before, databaseBefore] = [pid, platform.pids.PostgreSQL].map(cpuSeconds);
      const { count, seconds } = await clients.asFastAsPossible(next, turnMs, row.status);
      if (turn < 0) continue;
      run.rates.push(count / seconds);
      run.count += count;
      run.cpuS += cpuSeconds(pid) - before;
      run.databaseS += cpuSeconds(platform.pids.PostgreSQL) - databaseBefore;
    }
  for (const { clients } of runs) clients.close();
  return runs.map(({ row, checkout, rates, count, cpuS, databaseS }) => ({
    row,
    checkout,
    perSecond: median(rates),
    cpuUs: (cpuS * 1e6) / count,
    databaseUs: (databaseS * 1e6) / count,
  }));
}

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];

function loads() {
  return [
    {
      app: 'orders-v3',
      what: 'GET of an order, 1,000/s, while 50 orders/s are posted',
      reads: 1_000,
      writes: 50,
    },
    { app: 'orders-v3', what: 'POST of an order, 100/s', reads: 0, writes: 100 },
  ];
}

async function underLoad(processes, wanted) {
  const results = [];
  for (const load of wanted)
    for (const { checkout, target } of processes.filter(({ app }) => app === load.app)) {
      const [readers, writers] = [new Clients(target, 200), new Clients(target, 200)];
      const [read, write] = [requestBytes(target, 'GET', `/api/v3/orders/${name}`), posts()];
      const [reads, writes] = await Promise.all([
        load.reads === 0 ? [] : readers.atRate(() => read, load.reads, loadMs),
        writers.atRate(() => write(target), load.writes, loadMs),
      ]);
      for (const clients of [readers, writers]) clients.close();
      results.push({ load, checkout, responses: load.reads === 0 ? writes : reads });
    }
  return results;
}

function section({ checkouts, rows, measured, loaded, turns }) {
  const [own, other] = checkouts;
  const of = (row, checkout) => measured.find((each) => each.row === row && each.checkout === checkout);
  const us = (value) => `${value.toFixed(0)} µs`;
  const cells = (row, checkout) => {
    const { perSecond, cpuUs, databaseUs } = of(row, checkout);
    const floor = rows.find(({ app, what }) => app === row.app && what === row.floor);
    const share = floor === undefined ? '' : (perSecond / of(floor, checkout).perSecond).toFixed(2);
    return [Math.round(perSecond).toLocaleString('en'), share, us(cpuUs), us(databaseUs)];
  };
  const shown = other === undefined ? [own] : [other, own];
  const titles = (checkout) =>
    ['per second', 'share', 'CPU', 'CPU of PostgreSQL'].map((title) =>
      other === undefined ? title : `${title}, ${checkout === own ? 'now' : 'before'}`,
    );
  const at = (timesMs, share) => timesMs[Math.min(timesMs.length - 1, Math.floor(timesMs.length * share))];
  const ms = (value) => `${value.toFixed(1)} ms`;
  const text = `## Requests

\`npm run bench -- requests\`: one process each, ${inFlight} requests in flight; PostgreSQL, Redis and the client share the two cores. Medians of
${turns} turns of ${turnMs / 1_000} s for each row. CPU: of the process, for each request. Share: of the rate of the same process without database,
which is \`/config_templates\` for certs-v2, and an address without a route for the others.

${table([
  ['process', 'request', ...shown.flatMap(titles)],
  ...rows.map((row) => [row.app, row.what, ...shown.flatMap((checkout) => cells(row, checkout))]),
])}

At a fixed rate for ${loadMs / 1_000} s, times from when each request was due:

${table([
  ['load', ...(other === undefined ? [] : ['checkout']), 'responses', 'median', '99th percentile', 'longest'],
  ...loaded.map(({ load, checkout, responses }) => {
    const timesMs = responses.map((each) => each.ms).sort((a, b) => a - b);
    return [
      load.what,
      ...(other === undefined ? [] : [checkout === own ? 'now' : 'before']),
      statusesOf(responses),
      ...[0.5, 0.99, 1].map((share) => ms(at(timesMs, share))),
    ];
  }),
])}
`;
  return { name: 'requests', text };
}

function statusesOf(responses) {
  const counts = Map.groupBy(responses, ({ status }) => status);
  return [...counts].map(([status, { length }]) => `${length} × ${status}`).join(', ');
}
