// @ts-check
// Hosts of clusters on this machine: for each, the agent as a process of its own, and an nginx that it installs certificates for.
import { createPrivateKey, createPublicKey, randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { memoryFlags } from '../../agent-package/program.mjs';
import { bundle, workspaceRoot } from '../../build/bundle.mjs';
import { launch, run, stopChild } from '../../embedded/child.mjs';
import { freePort, LOOPBACK } from '../../embedded/ports.mjs';

const nginx = '/usr/sbin/nginx';
const program = path.join(workspaceRoot, 'dist/apps/agent/main.js');

/** @returns why there can be no hosts here; null: there can be */
export function missingForHosts() {
  if (!existsSync(nginx)) return 'nginx is not installed; run tools/test/peers.sh';
  return process.getuid?.() === 0 ? null : 'the hosts need root, since nginx reads keys of root';
}

export const buildAgent = async () => await bundle({ main: 'apps/agent/src/main.ts' }, 'dist/apps/agent');

/** As `npm run admin -- cluster` does: only its public half leaves the operator's machine. */
export function newClusterKey() {
  const seed = randomBytes(32);
  // RFC 8410, section 7.
  const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed]);
  const key = createPublicKey(createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }));
  return { seed: seed.toString('base64url'), publicKey: String(key.export({ format: 'jwk' }).x) };
}

/**
 * @typedef {object} Host
 * @property {string} name
 * @property {string} folder
 * @property {number} port of its nginx
 * @property {readonly string[]} orders each has the name of its only DNS name
 */

/**
 * @param {{ folder: string, name: string, server: string, zone: string, orders: readonly string[] }} what
 * @returns {Promise<Host>}
 */
export async function prepareHost({ folder, name, server, zone, orders }) {
  const own = path.join(folder, name);
  const port = await freePort();
  mkdirSync(path.join(own, 'web'), { recursive: true, mode: 0o755 });
  writeFileSync(path.join(own, 'web.sh'), webScript({ own, port }), { mode: 0o755 });
  const probes = orders.map((order) => `{ address = "${LOOPBACK}:${port}", server_name = "${order}" }`);
  const installs = orders.map(
    (order) => `[[install]]\norder = "${order}"\nservice = "web"\nformat = "folder"\n`,
  );
  writeFileSync(
    path.join(own, 'agent.toml'),
    `server = "${server}"
names = ["*.${zone}"]
state = "${own}/state"
[service.web]
test = ["${own}/web.sh", "test"]
reload = ["${own}/web.sh", "reload"]
probe = [${probes.join(', ')}]
${installs.join('')}`,
  );
  return { name, folder: own, port, orders };
}

/**
 * An operator's script. nginx serves the orders whose certificates are there, and is started by the first reload.
 * @param {{ own: string, port: number }} host
 */
const webScript = ({ own, port }) => `#!/bin/sh
set -e
cd ${own}/web
config() {
  echo "pid ${own}/web/pid; error_log ${own}/web/error.log; worker_processes 1; events { worker_connections 128; }"
  echo "http { access_log off;"
  for kind in client_body proxy fastcgi uwsgi scgi; do echo "\${kind}_temp_path ${own}/web/$kind;"; done
  for current in ${own}/state/orders/*/current; do
    [ -e "$current" ] || continue
    order=\${current%/current}
    order=\${order##*/}
    echo "server { listen ${LOOPBACK}:${port} ssl; server_name $order;"
    echo "ssl_certificate $current/fullchain.pem; ssl_certificate_key $current/privkey.pem; return 204; }"
  done
  echo "}"
}
config > nginx.$1
[ $1 = reload ] || exec ${nginx} -t -q -c ${own}/web/nginx.$1 -e ${own}/web/error.log
date +%s%3N >> reloads
[ ! -s pid ] || exec ${nginx} -s reload -c ${own}/web/nginx.$1 -e ${own}/web/error.log
exec ${nginx} -c ${own}/web/nginx.$1 -e ${own}/web/error.log
`;

/** @param {Host} host @param {string} joinString */
export async function enrol({ name, folder }, joinString) {
  await run(
    process.execPath,
    [program, 'enrol', '--name', name, '--config', path.join(folder, 'agent.toml')],
    {
      input: joinString,
    },
  );
}

/** Of the unit of the package. */
function unitEnvironment() {
  const unit = readFileSync(
    path.join(workspaceRoot, 'tools/agent-package/debian/certwright-agent.service'),
    'utf8',
  );
  const settings = /^Environment=(.*)$/m.exec(unit)?.[1] ?? '';
  return Object.fromEntries(settings.split(' ').map((setting) => setting.split('=')));
}

/** With the flags and settings of the package. @param {Host} host */
export async function startAgent({ folder }) {
  return await launch({
    command: process.execPath,
    args: [...memoryFlags, program, 'run', '--config', path.join(folder, 'agent.toml')],
    logFile: path.join(folder, 'agent.log'),
    env: { ...process.env, ...unitEnvironment() },
  });
}

/** @param {Host} host @param {import('../../embedded/child.mjs').Child | undefined} agent */
export async function stopHost({ folder }, agent) {
  if (agent !== undefined) await stopChild(agent, { graceMs: 10_000 });
  const pidFile = path.join(folder, 'web/pid');
  if (!existsSync(pidFile)) return;
  process.kill(Number(readFileSync(pidFile, 'utf8')), 'SIGTERM');
}

/** Times of reloads, in milliseconds. @param {Host} host */
export function reloadsOf({ folder }) {
  const file = path.join(folder, 'web/reloads');
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n').map(Number) : [];
}

/** Bytes of a process: resident, and of that not of a file. @param {number} pid */
export function memoryOf(pid) {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const kib = (/** @type {string} */ field) =>
    Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]);
  return { resident: kib('VmRSS') * 1024, anonymous: kib('RssAnon') * 1024 };
}
