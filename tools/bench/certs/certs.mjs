// Cost of the certificate API: reading an object and an instance, compared with a response without database, and many
// clients that poll one instance. Runs without a worker, so nothing is issued and polls wait.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import path from 'node:path';
import { freePort, LOOPBACK } from '../../embedded/ports.mjs';
import { bundle } from '../../build/bundle.mjs';
import { cpuSeconds } from '../cpu-time.mjs';
import { startPlatform } from '../issuance/platform.mjs';
import { table } from '../report.mjs';

const usage = 'npm run bench -- certs [requests, 5000] [waiting clients, 2000]';
const inFlight = 16;
const cn = 'bench.example.com';

export async function certs(args) {
  if (args.includes('--help')) return void console.log(usage);
  const [requests, waiting] = [Number(args[0] ?? 5_000), Number(args[1] ?? 2_000)];
  const platform = await startPlatform({ say: (line) => console.log(line), concurrency: '1' });
  try {
    // Prevents issuance.
    process.kill(platform.pids['issuance-worker'], 'SIGSTOP');
    const api = await startCerts(platform);
    const instance = await buy(api);
    const rows = [];
    for (const [what, at] of [
      ['a response without database', '/config_templates'],
      ['an object', `/certs/${cn}`],
      ['an object with current, pending and CSR', `/certs/${cn}?expand=current&expand=pending&expand=csr`],
      ['an instance', `/certs/${cn}/instances/${instance}`],
    ]) {
      rows.push({ what, ...(await measured(api, requests, at)) });
    }
    return section(rows, await pollers(api, instance, waiting), { requests, waiting });
  } finally {
    process.kill(platform.pids['issuance-worker'], 'SIGCONT');
    await platform.stop();
  }
}

async function startCerts(platform) {
  await bundle({ main: 'apps/certs-v2/src/main.ts' }, 'dist/apps/certs-v2');
  const [port, ops] = [await freePort(), await freePort()];
  const env = {
    ...platform.environment,
    PORT: String(port),
    OPS_PORT: String(ops),
    LOG_LEVEL: 'warn',
    READS_PER_S: '100000',
    WRITES_PER_S: '100000',
    DATABASE_POOL_SIZE: '4',
    SEALING_KEYS: Buffer.alloc(32, 7).toString('base64'),
  };
  const operations = `http://${LOOPBACK}:${ops}`;
  await platform.start('certs-v2', 'dist/apps/certs-v2', env, `${operations}/readyz`);
  const agent = new Agent({ keepAlive: true, maxSockets: inFlight });
  const authorization = `Basic ${Buffer.from(`${platform.apiKey}:`).toString('base64')}`;
  const call = async (method, at, body, through = agent) =>
    await exchange(through, { port, method, path: `/api/v2${at}`, headers: { authorization } }, body);
  return { pid: platform.pids['certs-v2'], metrics: `${operations}/metrics`, call };
}

async function buy(api) {
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', '/dev/null'];
  const csr = execFileSync('openssl', ['req', '-new', ...key, '-subj', `/C=US/CN=${cn}`], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  await api.call('POST', `/certs/${cn}`, { approval_method: 'dns', sans: [], csr });
  return (await api.call('POST', `/certs/${cn}/buy`, {})).json.id;
}

async function measured(api, requests, at) {
  for (let warm = 0; warm < 200; warm += 1) await api.call('GET', at);
  const [cpu, begun] = [cpuSeconds(api.pid), performance.now()];
  let left = requests;
  const work = async () => {
    while (left-- > 0) await api.call('GET', at);
  };
  await Promise.all(Array.from({ length: inFlight }, work));
  const seconds = (performance.now() - begun) / 1_000;
  return { perSecond: requests / seconds, cpuMs: ((cpuSeconds(api.pid) - cpu) * 1_000) / requests };
}

/** All poll the same instance, which is then closed without a message: the query every 5 s finds it. */
async function pollers(api, instance, waiting) {
  const before = residentMb(api.pid);
  const agent = new Agent({ keepAlive: false, maxSockets: Infinity });
  let finished = 0;
  const polls = Array.from({ length: waiting }, async () => {
    const { status } = await api.call('GET', `/certs/${cn}/instances/${instance}?poll=170`, undefined, agent);
    finished += 1;
    return status;
  });
  await untilWaiting(api, waiting);
  const during = residentMb(api.pid);
  const begun = performance.now();
  for (let each = 0; each < 50; each += 1) await api.call('GET', `/certs/${cn}`);
  const otherMs = (performance.now() - begun) / 50;
  const closed = performance.now();
  await api.call('POST', `/certs/${cn}/revoke`, { all: true });
  const statuses = await Promise.all(polls);
  const wokenMs = performance.now() - closed;
  if (finished !== waiting || statuses.some((status) => status !== 200))
    throw new Error('some polls got no response');
  return { kbEach: ((during - before) * 1_024) / waiting, otherMs, wokenMs };
}

/** Waits until the gauge of the process shows all polls. */
async function untilWaiting({ metrics }, waiting) {
  const until = Date.now() + 60_000;
  while (Date.now() < until) {
    const text = await (await fetch(metrics)).text();
    if (Number(/^certwright_waiting_polls\S* (\d+)$/m.exec(text)?.[1] ?? 0) >= waiting) return;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error('some polls did not reach the process');
}

function residentMb(pid) {
  const [, kilobytes = '0'] =
    /^VmRSS:\s+(\d+)/m.exec(readFileSync(path.join('/proc', String(pid), 'status'), 'utf8')) ?? [];
  return Number(kilobytes) / 1_024;
}

async function exchange(agent, { port, method, path: at, headers }, body) {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const type = text === undefined ? {} : { 'content-type': 'application/json' };
  return await new Promise((resolve, reject) => {
    const sent = request(
      { agent, host: LOOPBACK, port, method, path: at, headers: { ...headers, ...type } },
      (response) => {
        const chunks = [];
        response.on('data', (chunk) => chunks.push(chunk));
        response.on('end', () => {
          const received = Buffer.concat(chunks).toString();
          if ((response.statusCode ?? 500) >= 400 && response.statusCode !== 412)
            return reject(new Error(received));
          resolve({ status: response.statusCode, json: JSON.parse(received) });
        });
      },
    );
    sent.on('error', reject).end(text);
  });
}

function section(rows, { kbEach, otherMs, wokenMs }, { requests, waiting }) {
  const [floor] = rows;
  const text = `## Certificate API

\`npm run bench -- certs\`: ${requests.toLocaleString('en')} requests each, ${inFlight} in flight, one process with four connections to PostgreSQL.

${table([
  ['request', 'per second', 'CPU of the process', 'share of the first row'],
  ...rows.map(({ what, perSecond, cpuMs }) => [
    what,
    Math.round(perSecond).toLocaleString('en'),
    `${cpuMs.toFixed(2)} ms`,
    (perSecond / floor.perSecond).toFixed(2),
  ]),
])}

${waiting.toLocaleString('en')} clients that wait for one instance: ${kbEach.toFixed(1)} KB of memory each, no connection to the database;
another request takes ${otherMs.toFixed(1)} ms meanwhile; all get their response ${(wokenMs / 1_000).toFixed(2)} s after the instance is no longer pending.
`;
  return { name: 'certs', text };
}
