// A managed order: an agent makes the key, nginx on this machine serves the certificate, the key is replaced, and a broken
// reload is rolled back.
import { spawn, spawnSync } from 'node:child_process';
import { randomBytes, X509Certificate } from 'node:crypto';
import { chmodSync, mkdtempSync, openSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { connect } from 'node:tls';
import {
  environment,
  explain,
  fail,
  http,
  need,
  publish,
  read,
  say,
  shell,
  started,
  step,
  until,
  useFolder,
  workspaceRoot,
  write,
} from './steps.mjs';

const suffix = randomBytes(2).toString('hex');
const name = `shop-${suffix}.${started.demo_zone}`;
const cluster = `demo-${suffix}`;
// The agent refuses folders that other users may write to, as those of a checkout may be.
process.umask(0o077);
const folder = useFolder(mkdtempSync(path.join(realpathSync(tmpdir()), 'certwright-demo-')));
const orderPath = `/api/v3/orders/${name}`;
/** From an order to a handshake: the CSR, the approval and the issuance take seconds. */
const servedMs = 90_000;
/** The agent probes for 30 s before it restores the previous certificate, and then probes that one. */
const rolledBackMs = 150_000;

need('openssl');
need('nginx');
need('curl');
const port = await freePort();
Object.assign(environment, {
  ...{ NAME: name, CLUSTER: cluster, PORT: String(port) },
  ...{ ADMIN: `npm --prefix ${workspaceRoot} run --silent admin --` },
  ...{ AGENT: `node ${workspaceRoot}/dist/apps/agent/main.js` },
});
explain(
  `API is ${environment.API}; API_KEY is the key of your sandbox account; ADMIN and AGENT are commands.`,
);
buildAgent();

/** What runs until the demo ends. */
const running = [];
process.once('exit', () => {
  for (const stop of running) stop();
});

step('Create a cluster key: its private half stays in this file');
shell('$ADMIN cluster new-key "$PWD/cluster.key" > cluster.pub');
explain(`public half: ${read('cluster.pub').trim()}`);

step('Create a cluster with the public half, and an enrolment token');
write('cluster.json', JSON.stringify({ name: cluster, cluster_key: read('cluster.pub').trim() }));
explain(JSON.stringify(http('POST', '/api/v3/clusters', 'cluster.json')));
write('enrolment.json', '{}');
const { token, ...enrolment } = http('POST', `/api/v3/clusters/${cluster}/enrolments`, 'enrolment.json');
explain(JSON.stringify({ ...enrolment, token: '(shown once)' }));

step('Join: the token and the private half make the join string. Only the token is sent');
write('token', token);
shell('$ADMIN cluster join-string --key-file "$PWD/cluster.key" --from-file "$PWD/token" > join-string');
writeConfigurations();
explain(read('agent.toml').trimEnd().replaceAll('\n', '\n  '));
shell('$AGENT enrol --config "$PWD/agent.toml" --name demo-host < join-string && rm join-string token', {
  echo: true,
});
startAgent();
await until('agent', async () => {
  const [agent] = await get(`/api/v3/clusters/${cluster}/agents`);
  return agent?.state === 'online' && agent.last_seen_at !== null ? agent : undefined;
});

step('Order a certificate: with the cluster, without a CSR');
const orderedAt = Date.now();
write('order.json', JSON.stringify({ dns_names: [name], cluster, key_type: 'ecdsa' }));
const { issuance } = http('POST', '/api/v3/orders?expand=issuance', 'order.json');
explain(`phase: ${issuance.phase}. This record approves the order, now and at every renewal:`);
const [record] = issuance.names[0].record.options;
explain(`  ${record.name}  ${record.type}  ${record.value}`);
publish(record);

step('nginx serves the certificate');
const first = await servedCurrent();
explain(`Served ${((Date.now() - orderedAt) / 1000).toFixed(1)} s after the order:`);
shell(
  'openssl s_client -connect 127.0.0.1:$PORT -servername "$NAME" -CAfile "$ROOT" -verify_hostname "$NAME" -verify_return_error ' +
    '< /dev/null 2> /dev/null | openssl x509 -noout -subject -ext subjectAltName -enddate -fingerprint -sha256',
  { echo: true },
);
await showInstallations(({ state }) => state === 'serving');

step('Replace the key now, as each renewal does');
write('rekey.json', '{"now": true}');
explain(JSON.stringify(http('POST', `/api/v3/clusters/${cluster}/rekey`, 'rekey.json')));
const second = await servedCurrent(first);
if (second.spki === first.spki) fail('The new certificate has the key of the old one.');
explain(`Served, with another key: ${second.sha256}`);
await showInstallations(({ state }) => state === 'serving');

step('Break the reload: it returns 0, and changes nothing');
write('reload-nginx', '#!/bin/sh\nexit 0\n');
shell('cat reload-nginx', { echo: true });
http('POST', `/api/v3/clusters/${cluster}/rekey`, 'rekey.json');
explain(
  'The agent installs the next certificate, and does not believe the exit code: it looks at what visitors get.',
);
await showInstallations(({ state }) => state === 'rolled_back', rolledBackMs);
const kept = await served();
if (kept?.sha256 !== second.sha256) fail('nginx does not serve the previous certificate any more.');
const onDisk = new X509Certificate(readFileSync(path.join(currentFolder(), 'cert.pem'))).fingerprint256;
if (hexOf(onDisk) !== second.sha256) fail('The previous files were not restored.');
explain(
  'nginx serves the previous certificate, whose files are in place again: a restart of nginx is harmless.',
);

step('Correct the reload: the next attempt succeeds');
writeReload();
explain('The agent tries again after a minute.');
const third = await servedCurrent(second, rolledBackMs);
explain(`Served: ${third.sha256}`);
await showInstallations(({ state }) => state === 'serving');
explain(`All files are in ${folder}; the log of the agent is agent.log.`);
process.exit(0);

function buildAgent() {
  const build = spawnSync('npx', ['nx', 'build', 'agent', '--output-style=static'], {
    cwd: workspaceRoot,
    encoding: 'utf8',
    env: { ...process.env, NX_DAEMON: 'false' },
  });
  if (build.status !== 0) fail(`${build.stdout}${build.stderr}`);
}

function writeConfigurations() {
  write(
    'agent.toml',
    `server = "${environment.API}"
names = ["${name}"]
state = "${folder}/state"

[service.nginx]
test = ["nginx", "-t", "-q", "-c", "${folder}/nginx.conf"]
reload = ["${folder}/reload-nginx"]
probe = [{ address = "127.0.0.1:${port}", server_name = "${name}" }]

[[install]]
order = "${name}"
service = "nginx"
`,
  );
  const files = path.join(folder, 'state/orders', name, 'current');
  write(
    'nginx.conf',
    `pid ${folder}/nginx.pid;
error_log ${folder}/nginx.log;
worker_processes 1;
events {}
http {
  access_log off;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((each) => `${each}_temp_path ${folder}/temp;`).join('\n  ')}
  server {
    listen 127.0.0.1:${port} ssl;
    ssl_certificate     ${files}/fullchain.pem;
    ssl_certificate_key ${files}/privkey.pem;
    return 200 "hello\\n";
  }
}
`,
  );
  writeReload();
}

/** As \`systemctl reload-or-restart nginx\`: nginx cannot start before its first certificate. */
function writeReload() {
  write(
    'reload-nginx',
    `#!/bin/sh
nginx -c ${folder}/nginx.conf -s reload 2> /dev/null || exec nginx -c ${folder}/nginx.conf
`,
  );
  chmodSync(path.join(folder, 'reload-nginx'), 0o700);
}

function startAgent() {
  const line = '$AGENT run --config "$PWD/agent.toml" 2> agent.log';
  say(`$ ${line} &`);
  const log = openSync(path.join(folder, 'agent.log'), 'a');
  const [, script = ''] = environment.AGENT.split(' ');
  const agent = spawn(process.execPath, [script, 'run', '--config', path.join(folder, 'agent.toml')], {
    stdio: ['ignore', log, log],
  });
  agent.once('exit', (code) => {
    if (code !== null && code !== 0) fail(`The agent ended with ${code}:\n${read('agent.log')}`);
  });
  running.push(() => agent.kill(), stopNginx);
}

function stopNginx() {
  spawnSync('nginx', ['-c', path.join(folder, 'nginx.conf'), '-s', 'stop'], { stdio: 'ignore' });
}

async function get(target) {
  const response = await fetch(`${environment.API}${target}`, {
    headers: { authorization: `Bearer ${environment.API_KEY}` },
  });
  const found = await response.json();
  if (!response.ok) fail(JSON.stringify(found, null, 2));
  return found;
}

/** @returns what nginx presents; undefined: nothing */
async function served() {
  return await new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, servername: name, rejectUnauthorized: false });
    socket.setTimeout(2_000, () => socket.destroy());
    socket.once('secureConnect', () => {
      const certificate = socket.getPeerX509Certificate();
      socket.end();
      const spki = certificate.publicKey.export({ type: 'spki', format: 'der' }).toString('hex');
      resolve({ sha256: hexOf(certificate.fingerprint256), spki });
    });
    socket.once('error', () => undefined).once('close', () => resolve(undefined));
  });
}

/** Waits until nginx presents the current certificate of the order, and another one than before. */
async function servedCurrent(before, withinMs = servedMs) {
  return await until(
    'handshake with the current certificate',
    async () => {
      const [{ current_cert: current }, presented] = [
        await get(`${orderPath}?expand=current_cert`),
        await served(),
      ];
      const isNew = presented !== undefined && presented.sha256 !== before?.sha256;
      return isNew && presented.sha256 === current?.sha256 ? presented : undefined;
    },
    withinMs,
  );
}

async function showInstallations(isExpected, withinMs = servedMs) {
  say(`$ curl -sS "$API${orderPath}?expand=installations" -H "Authorization: Bearer $API_KEY"`);
  const installations = await until(
    'installation',
    async () => {
      const { installations: found } = await get(`${orderPath}?expand=installations`);
      return found.length > 0 && found.every(isExpected) ? found : undefined;
    },
    withinMs,
  );
  say(JSON.stringify(installations, null, 2));
}

function currentFolder() {
  const orders = path.join(folder, 'state/orders');
  const [only = ''] = readdirSync(orders);
  return path.join(orders, only, 'current');
}

/** @param {string} fingerprint AB:CD:… */
function hexOf(fingerprint) {
  return fingerprint.replaceAll(':', '').toLowerCase();
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port: free } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return free;
}
