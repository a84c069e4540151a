// Latency of reads of the order API while more orders arrive than can be stored.
import { Agent, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { cpuSeconds } from '../cpu-time.mjs';
import { certificationRequest } from '../issuance/certification-requests.mjs';
import { startPlatform } from '../issuance/platform.mjs';
import { table } from '../report.mjs';

const usage = 'npm run bench -- overload [posts per second, 2000] [seconds, 10]';
const readsPerS = 50;
/** Maximum number of open requests of a client, to limit the load. */
const maxOpen = 500;

export async function overload(args) {
  if (args.includes('--help')) return void console.log(usage);
  const [postsPerS, seconds] = [Number(args[0] ?? 2_000), Number(args[1] ?? 10)];
  const platform = await startPlatform({ say: (line) => console.log(line), concurrency: '1' });
  try {
    process.kill(platform.pids['issuance-worker'], 'SIGSTOP');
    // Separate connections: reads do not wait in the client for one of a post.
    const [reader, writer] = [client(platform), client(platform)];
    const csr = certificationRequest('www.bench.example.com');
    const order = (name) => ({ name, dns_names: ['www.bench.example.com'], csr });
    await writer('POST', '/orders', order('read'));
    const read = async () => await reader('GET', '/orders/read');
    let posted = 0;
    const post = async () => await writer('POST', '/orders', order(`order ${(posted += 1)}`));
    await paced(readsPerS, 3, read);
    const alone = await paced(readsPerS, seconds, read);
    const cpu = cpuSeconds(platform.pids['orders-v3']);
    const [beside, posts] = await Promise.all([
      paced(readsPerS, seconds, read),
      paced(postsPerS, seconds, post),
    ]);
    const cpuShare = (cpuSeconds(platform.pids['orders-v3']) - cpu) / seconds;
    return section({ alone, beside, posts, cpuShare, postsPerS, seconds });
  } finally {
    process.kill(platform.pids['issuance-worker'], 'SIGCONT');
    await platform.stop();
  }
}

function client({ api, apiKey }) {
  const { hostname, port } = new URL(api);
  const agent = new Agent({ keepAlive: true, maxSockets: maxOpen });
  const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
  return async (method, path, body) =>
    await new Promise((resolve) => {
      const begunMs = performance.now();
      const end = (status, retryAfter) => resolve({ status, retryAfter, ms: performance.now() - begunMs });
      const sent = request({ agent, hostname, port, method, path: `/api/v3${path}`, headers }, (response) => {
        response.resume();
        response.once('end', () => end(response.statusCode, response.headers['retry-after']));
      });
      sent.on('error', () => end(0));
      sent.end(body === undefined ? undefined : JSON.stringify(body));
    });
}

/** Sends requests at a fixed rate, without waiting for responses. */
async function paced(perS, seconds, send) {
  const begunMs = performance.now();
  const responses = [];
  let [sent, open] = [0, 0];
  while (performance.now() - begunMs < seconds * 1_000) {
    const due = ((performance.now() - begunMs) / 1_000) * perS;
    for (; sent < due && open < maxOpen; sent += 1) {
      open += 1;
      void send().then((response) => {
        open -= 1;
        responses.push(response);
      });
    }
    await delay(5);
  }
  while (open > 0) await delay(20);
  return responses;
}

function section({ alone, beside, posts, cpuShare, postsPerS, seconds }) {
  const row = (what, responses) => {
    const ms = responses.map((each) => each.ms).sort((a, b) => a - b);
    const at = (share) =>
      `${(ms[Math.min(ms.length - 1, Math.floor(ms.length * share))] ?? 0).toFixed(1)} ms`;
    const counts = Map.groupBy(responses, ({ status }) => status);
    const statuses = [...counts].map(([status, { length }]) => `${length} × ${status}`).join(', ');
    return [what, at(0.5), at(0.99), statuses];
  };
  const stored = posts.filter(({ status }) => status === 201).length;
  const text = `## Overload of the order API

\`npm run bench -- overload\`: ${readsPerS} reads a second alone, then together with ${postsPerS} orders a second for ${seconds} s, all on one machine; ${Math.round(stored / seconds)} a second were stored,
and the process used ${cpuShare.toFixed(2)} cores.

${table([
  ['requests', 'median', '99th percentile', 'responses'],
  row('reads alone', alone),
  row('reads with orders', beside),
  row(
    'orders: stored',
    posts.filter(({ status }) => status === 201),
  ),
  row(
    'orders: refused',
    posts.filter(({ status }) => status !== 201),
  ),
])}
`;
  return { name: 'overload', text };
}
