// The whole platform with a CA: orders are created and approved, approval-responder serves TXT values, certificates are
// attached. The CA validates through a resolver, as a public one does.
import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { request as httpsRequest } from 'node:https';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { bundle } from '../../build/bundle.mjs';
import { freePort, LOOPBACK } from '../../embedded/ports.mjs';
import { takesConnections } from '../../peers/readiness.mjs';
import { startPebble } from '../../peers/pebble.mjs';
import { requiredProgram } from '../../peers/programs.mjs';
import { started } from '../../peers/servers.mjs';
import { certificationRequest } from '../issuance/certification-requests.mjs';
import { issued, measure, post, send, sideBySide } from '../issuance/issuance.mjs';
import { startPlatform } from '../issuance/platform.mjs';

const publishers = 16;
/**
 * Certificates before the measurement, so that the rest is as in a process that runs for hours: each connection plans a statement five times
 * before it keeps the plan, and V8 compiles what has run often.
 */
const warmUp = 100;
/** Running processes apply an operator's change within 5 s. */
const followedWithinMs = 5_500;
const upWithinMs = 20_000;
/** Lower-case base32, as in labels of approval-responder. */
const base32 = 'abcdefghijklmnopqrstuvwxyz234567';

/**
 * @param {{ folder: string, count: number, concurrency: number, say: (line: string) => void }} setting
 * @returns {Promise<{ seconds: number, cpu: Record<string, number>, count: number }>} CPU seconds by process
 */
export async function measurePlatform({ folder, count, concurrency, say }) {
  const responderPort = await freePort();
  const worker = {
    SANDBOX_AUTHORITIES: 'true',
    CA_ACCOUNT_KEYS: randomBytes(32).toString('base64'),
    APPROVAL_RESPONDERS: `${LOOPBACK}:${responderPort}`,
  };
  const platform = await startPlatform({ say, concurrency: String(concurrency), worker });
  const undo = [platform.stop];
  const database = new pg.Pool({ connectionString: platform.databaseUrl, max: 2 });
  undo.push(() => database.end());
  try {
    await startResponder(platform, responderPort);
    const resolver = await startResolver(path.join(folder, 'unbound'), platform, responderPort);
    undo.push(resolver.stop);
    const pebble = await startPebble({ resolver: resolver.address });
    undo.push(pebble.stop);
    await setUpAuthority(folder, platform, pebble);
    say(`making ${count + warmUp} keys and CSRs, and publishing their standing records`);
    const bodies = await prepare(platform, database, count + warmUp);
    await post(platform, bodies.slice(0, warmUp), concurrency);
    await issued(database, warmUp);
    say(`posting ${count} orders while they are issued`);
    const spent = await measure(platform, async () => {
      await post(platform, bodies.slice(warmUp), concurrency);
      await issued(database, count + warmUp);
    });
    return { ...spent, count };
  } finally {
    for (const step of undo.reverse()) await step();
  }
}

async function startResponder({ environment, approvalZone, start }, port) {
  await bundle({ main: 'apps/approval-responder/src/main.ts' }, 'dist/apps/approval-responder');
  const [http, ops] = [await freePort(), await freePort()];
  const env = {
    ...environment,
    PORT: String(http),
    OPS_PORT: String(ops),
    DNS_PORT: String(port),
    APPROVAL_NAME_SERVERS: `ns1.${approvalZone}=${LOOPBACK}`,
    DNS_VALUE_TTL: '0',
  };
  await start('approval-responder', 'dist/apps/approval-responder', env, `http://${LOOPBACK}:${ops}/readyz`);
}

/** Unbound with the servers of the customers' zones and ours. */
async function startResolver(folder, { dnsPort, approvalZone }, responderPort) {
  mkdirSync(folder);
  const port = await freePort();
  const stub = (zone, at) => `stub-zone:\n  name: "${zone}."\n  stub-addr: ${LOOPBACK}@${at}\n`;
  writeFileSync(
    path.join(folder, 'unbound.conf'),
    `server:
  interface: ${LOOPBACK}@${port}
  do-ip6: no
  do-daemonize: no
  username: ""
  chroot: ""
  directory: "${folder}"
  pidfile: "${folder}/unbound.pid"
  use-syslog: no
  num-threads: 1
  incoming-num-tcp: 100
  module-config: "iterator"
  do-not-query-localhost: no
  cache-max-ttl: 0
  cache-max-negative-ttl: 0
remote-control:
  control-enable: no
${stub(approvalZone, responderPort)}${stub('example.com', dnsPort)}`,
  );
  const args = ['-d', '-c', path.join(folder, 'unbound.conf')];
  const log = path.join(folder, 'unbound.log');
  const { stop } = await started({ program: requiredProgram('unbound'), args, log }, folder);
  await takesConnections({ address: LOOPBACK, port }, AbortSignal.timeout(upWithinMs));
  return { address: `${LOOPBACK}:${port}`, stop };
}

/** Like an operator. */
async function setUpAuthority(folder, { tool }, { directoryUrl, managementUrl, tlsRoot }) {
  const file = (name, text) => {
    writeFileSync(path.join(folder, name), text);
    return path.join(folder, name);
  };
  const trust = [
    ...['--tls-roots', file('platform-tls.pem', tlsRoot)],
    ...['--trusted-root', file('platform-root.pem', await get(`${managementUrl}/roots/0`, tlsRoot))],
  ];
  await tool('dist/tools/admin', 'authority', 'add', 'pebble', '--directory', directoryUrl, ...trust);
  await tool('dist/tools/admin', 'product', 'set', 'free_ca', '--authorities', 'pebble');
  await delay(followedWithinMs);
}

async function get(url, ca) {
  return await new Promise((resolve, reject) => {
    const sent = httpsRequest(url, { ca }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part) => (text += part));
      response.on('end', () => resolve(text));
    });
    sent.on('error', reject).end();
  });
}

async function prepare({ control, accountId, approvalZone }, database, count) {
  const agent = new Agent({ keepAlive: true, maxSockets: publishers });
  const names = Array.from({ length: count }, (_, index) => `www${index}.bench.example.com`);
  const labels = names.map(() => [...randomBytes(32)].map((byte) => base32[byte & 31]).join(''));
  await database.query(
    `INSERT INTO delegation (account_id, dns_name, label) SELECT $1, * FROM unnest($2::text[], $3::text[])`,
    [accountId, names, labels],
  );
  await sideBySide(publishers, names, async (name, index) => {
    const value = `${labels[index]}.${approvalZone}`;
    await send(agent, `${control}/records`, {}, { name: `_acme-challenge.${name}`, type: 'CNAME', value });
  });
  agent.destroy();
  return names.map((name) => ({ dns_names: [name], csr: certificationRequest(name) }));
}
