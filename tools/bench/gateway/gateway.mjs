// Cost of a change through the gateway: mutual TLS, handle, policy, two audit entries (the first one synced), a signed
// RFC 2136 update at a name server. Compared with bare HTTPS of the gateway, and with synced appends.
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  fdatasyncSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { Agent, request } from 'node:https';
import os from 'node:os';
import path from 'node:path';
import { launch, httpProbe, run, stopChild, untilReady } from '../../embedded/child.mjs';
import { freePort, LOOPBACK } from '../../embedded/ports.mjs';
import { bundle, workspaceRoot } from '../../build/bundle.mjs';
import { cpuSeconds } from '../cpu-time.mjs';
import { table } from '../report.mjs';

const usage = 'npm run bench -- gateway [changes, 2000]';
const readyWithinMs = 30_000;
const inFlight = 16;
const client = 'spiffe://certwright.internal/issuance-worker';
const approvalZone = 'approval.example.net';

export async function gateway(args) {
  if (args.includes('--help')) return void console.log(usage);
  const changes = Number(args[0] ?? 2_000);
  const image = await imageContent();
  const world = await startWorld();
  try {
    const atRest = residentMb(world.pids.gateway);
    const integration = await world.integrate();
    const names = Array.from({ length: changes }, (_, index) => `_acme-challenge.n${index}.example.com`);
    await sideBySide(names.slice(0, 50), async (fqdn) => await world.add(integration, fqdn));
    const handles = [];
    const added = await measured(world.pids, async () => {
      await sideBySide(names, async (fqdn) => handles.push(await world.add(integration, fqdn)));
    });
    const removed = await measured(world.pids, async () => {
      await sideBySide(handles, async (handle) => await world.remove(integration, handle));
    });
    const described = await measured(world.pids, async () => {
      await sideBySide(names, async () => await world.call('GET', '/description?account=1'));
    });
    const floor = { appends: syncedAppends(world.folder) };
    const afterwards = residentMb(world.pids.gateway);
    return section({
      changes,
      image,
      startMs: world.startMs,
      atRest,
      afterwards,
      added,
      removed,
      described,
      floor,
    });
  } finally {
    await world.stop();
  }
}

async function startWorld() {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'certwright-bench-gateway-'));
  const undo = [() => rmSync(folder, { recursive: true, force: true })];
  const stop = async () => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  try {
    const programs = { 'demo-dns': 'tools/demo-dns/main.ts', 'gateway-keys': 'tools/gateway-keys/main.ts' };
    for (const [name, main] of Object.entries(programs)) await bundle({ main }, `dist/tools/${name}`);
    const keys = path.join(folder, 'keys');
    await run(process.execPath, ['dist/tools/gateway-keys/main.js', keys], { cwd: workspaceRoot });
    const secret = randomBytes(32).toString('base64');
    const ports = {
      dns: await freePort(),
      control: await freePort(),
      https: await freePort(),
      ops: await freePort(),
    };
    const start = async (name, program, env, ready) => {
      const logFile = path.join(folder, `${name}.log`);
      const begun = performance.now();
      const child = await launch({
        command: process.execPath,
        args: [program],
        cwd: workspaceRoot,
        env,
        logFile,
      });
      undo.push(() => stopChild(child));
      await untilReady(httpProbe(ready), { child, what: name, withinMs: readyWithinMs });
      return { pid: child.pid, ms: performance.now() - begun };
    };
    const { dns, gateway: settings } = environments(folder, keys, ports, secret);
    const dnsChild = await start(
      'dns',
      'dist/tools/demo-dns/main.js',
      dns,
      `http://${LOOPBACK}:${ports.control}/healthz`,
    );
    const ready = `http://${LOOPBACK}:${ports.ops}/readyz`;
    const child = await start('gateway', 'dist/apps/dns-gateway/main.js', settings, ready);
    const pids = { gateway: child.pid, 'name server': dnsChild.pid };
    return { folder, pids, startMs: child.ms, stop, ...callsOf(keys, ports, secret) };
  } catch (error) {
    await stop();
    throw error;
  }
}

function environments(folder, keys, ports, secret) {
  const file = (name) => path.join(keys, name);
  const dns = {
    ...process.env,
    DNS_PORT: String(ports.dns),
    CONTROL_PORT: String(ports.control),
    DEMO_ZONES: 'example.com',
    DEMO_TSIG_KEY: `bench:hmac-sha256:${secret}`,
    LOG_LEVEL: 'error',
  };
  const gateway = {
    ...process.env,
    PORT: String(ports.https),
    OPS_PORT: String(ports.ops),
    LOG_LEVEL: 'warn',
    TLS_CERTIFICATE_FILE: file('server.pem'),
    TLS_KEY_FILE: file('server.key'),
    CLIENT_CA_FILE: file('ca.pem'),
    GATEWAY_CLIENTS: `${client}=make_integration+get_zones+add_record+remove_record+description`,
    CLIENT_RATE_PER_S: '100000',
    HANDLE_KEYS_FILE: file('handle.keys'),
    CREDENTIALS_KEY_FILE: file('credentials.key'),
    AUDIT_DIR: path.join(folder, 'audit'),
    APPROVAL_ZONES: approvalZone,
    ALLOWED_NETWORKS: '127.0.0.0/8',
  };
  return { dns, gateway };
}

function callsOf(keys, ports, secret) {
  const read = (name) => readFileSync(path.join(keys, name), 'utf8');
  const agent = new Agent({
    keepAlive: true,
    maxSockets: inFlight,
    ca: read('ca.pem'),
    cert: read('issuance-worker.pem'),
    key: read('issuance-worker.key'),
  });
  const owner = { account: '1', integration_id: 'bench', provider: 'rfc2136' };
  const call = async (method, at, body) =>
    await exchange(agent, `https://${LOOPBACK}:${ports.https}${at}`, method, body);
  const credentials = {
    type: 'bearer',
    server: LOOPBACK,
    port: String(ports.dns),
    key_name: 'bench',
    key_algorithm: 'hmac-sha256',
    key_secret: secret,
    zones: 'example.com',
  };
  return {
    call,
    integrate: async () => (await call('POST', '/make_integration', { ...owner, credentials })).integration,
    add: async (integration, fqdn) => {
      const record = { fqdn, type: 'CNAME', value: `target.${approvalZone}`, ttl: 60 };
      return (await call('POST', '/add_record', { ...owner, integration, record })).record_handle;
    },
    remove: async (integration, record_handle) =>
      await call('POST', '/remove_record', { ...owner, integration, record_handle }),
  };
}

async function exchange(agent, url, method, body) {
  return await new Promise((resolve, reject) => {
    const sent = request(
      url,
      { agent, method, headers: { 'content-type': 'application/json' } },
      (response) => {
        const chunks = [];
        response.on('data', (chunk) => chunks.push(chunk));
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          if (response.statusCode === 200) return resolve(JSON.parse(text));
          reject(new Error(`${url}: ${response.statusCode} ${text}`));
        });
      },
    );
    sent.on('error', reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

async function sideBySide(items, work) {
  let next = 0;
  const one = async () => {
    for (let index = next++; index < items.length; index = next++) await work(items[index]);
  };
  await Promise.all(Array.from({ length: inFlight }, one));
}

async function measured(pids, work) {
  const cpu = () => Object.values(pids).map((pid) => cpuSeconds(pid));
  const before = cpu();
  const begun = performance.now();
  await work();
  const seconds = (performance.now() - begun) / 1_000;
  const [own = 0] = cpu().map((spent, index) => spent - before[index]);
  return { seconds, gatewayCpu: own };
}

/** Appends of the size of an audit entry, each synced, one after the other. @returns {number} per second */
function syncedAppends(folder) {
  const file = openSync(path.join(folder, 'floor'), 'a');
  const entry = Buffer.alloc(600, 'x');
  const begun = performance.now();
  const count = 2_000;
  for (let written = 0; written < count; written++) {
    writeSync(file, entry);
    fdatasyncSync(file);
  }
  closeSync(file);
  return count / ((performance.now() - begun) / 1_000);
}

function residentMb(pid) {
  const [, kilobytes = '0'] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) / 1_024;
}

function section({ changes, image, startMs, atRest, afterwards, added, removed, described, floor }) {
  const rate = ({ seconds }) => changes / seconds;
  const ms = ({ gatewayCpu }) => ((gatewayCpu * 1_000) / changes).toFixed(2);
  const beside = (work) => `1 : ${(rate(described) / rate(work)).toFixed(1)}`;
  const rates = table([
    ['what', 'per second', 'relative to bare HTTPS', "the gateway's CPU, ms"],
    [
      '**records added** (audited, signed update, handle encrypted)',
      `**${rate(added).toFixed(0)}**`,
      beside(added),
      ms(added),
    ],
    ['records removed', rate(removed).toFixed(0), beside(removed), ms(removed)],
    ['baseline: descriptions over mutual TLS', rate(described).toFixed(0), '', ms(described)],
    ['baseline: sequential synced appends', floor.appends.toFixed(0), '', ''],
  ]);
  const megabytes = (bytes) => (bytes / 1_048_576).toFixed(1);
  const size = table([
    ['the process', ''],
    ['start until ready', `${(startMs / 1_000).toFixed(2)} s`],
    ['memory when idle', `${atRest.toFixed(0)} MB`],
    [`memory after ${2 * changes} changes`, `${afterwards.toFixed(0)} MB`],
    ['bundle, all providers', `${megabytes(image.bundleBytes)} MB`],
    ['packages in it', String(image.packages.length)],
  ]);
  const [{ model }] = os.cpus();
  const machine = `${os.cpus().length} cores (${model.trim()}), Node ${process.version}, ${inFlight} in flight, ${changes} changes in one zone`;
  return { name: 'gateway', text: `## DNS gateway\n\n${machine}.\n\n${rates}\n\n${size}` };
}

/**
 * Content of the gateway's image besides Node: its bundle with all packages.
 *
 * @returns {Promise<{ bundleBytes: number, packages: string[] }>}
 */
async function imageContent() {
  const folder = 'dist/apps/dns-gateway';
  await bundle({ main: 'apps/dns-gateway/src/main.ts' }, folder);
  const place = path.join(workspaceRoot, folder);
  const packages = JSON.parse(readFileSync(path.join(place, 'main.packages.json'), 'utf8'));
  return { bundleBytes: statSync(path.join(place, 'main.js')).size, packages };
}
