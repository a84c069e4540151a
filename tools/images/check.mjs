// @ts-check
// Runs the services of docker/compose.yaml from the images that `npm run images` has built, without Docker: each image with
// crun (read-only, its own user, no capabilities, seccomp), PostgreSQL, Redis and Caddy of this machine in place of their
// images, and the demo DNS in place of the resolver, because nothing here reaches the Internet. It sets up a deployment
// twice, orders a certificate with curl, and measures. Needs root, buildah, crun and caddy.
//
//   npm run images:check
import { spawn, spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import {
  cpSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { bundle } from '../build/bundle.mjs';
import { httpProbe, launch, run, stopChild, untilReady } from '../embedded/child.mjs';
import { startPostgres } from '../embedded/postgres.mjs';
import { redisBinary } from '../embedded/redis-binaries.mjs';
import { places } from '../up/home.mjs';
import { nodeBinary, workspaceRoot } from '../up/workspace.mjs';
import { readCompose } from './compose.mjs';
import { prepareContainer } from './container.mjs';
import { images, imagesFolder } from './context.mjs';
import { runBuildah } from './engine.mjs';
import { imageSizes } from './sizes.mjs';

/** Of the layer with an app, not compressed; of a whole image, compressed. */
const LIMITS = { appBytes: 15e6, compressedBytes: 60e6, readySeconds: 3, restBytes: 150e6 };
const READY_WITHIN_MS = 60_000;
/** Memory is read after garbage of the start may have been collected. */
const AT_REST_MS = 3_000;
const SERVICES = ['postgres', 'redis', 'resolver', 'dns-gateway', ...images];

const { version } = JSON.parse(readFileSync(path.join(workspaceRoot, 'package.json'), 'utf8'));
const tagOf = (/** @type {string} */ image) => `localhost/certwright-${image}:${version}`;
/** @type {string[]} */
const problems = [];
const check = (/** @type {boolean} */ holds, /** @type {string} */ problem) => {
  if (!holds) problems.push(problem);
};

if (process.argv[2] !== 'inside') {
  // If it is not installed, it is fetched here: there is no network inside.
  await redisBinary({ cache: places.redisBinaries, report: (line) => console.log(line) });
  const folder = mkdtempSync(path.join(os.tmpdir(), 'certwright-images-'));
  const hosts = path.join(folder, 'hosts');
  writeFileSync(hosts, `127.0.0.1 localhost ${SERVICES.join(' ')}\n`);
  // A network of its own with loopback only, and names of services; crun expects cgroups of version 2.
  const enter =
    'ip link set lo up && mount --bind "$1" /etc/hosts && umount -R /sys/fs/cgroup && ' +
    'mount -t cgroup2 none /sys/fs/cgroup && exec "$2" "$3" inside "$4"';
  const args = ['--net', '--mount', 'sh', '-ec', enter, 'sh', hosts];
  const { status } = spawnSync('unshare', [...args, process.execPath, process.argv[1] ?? '', folder], {
    stdio: 'inherit',
  });
  rmSync(folder, { recursive: true, force: true });
  process.exit(status ?? 1);
}

const folder = process.argv[3] ?? '';
const hosts = path.join(folder, 'hosts');
/** @type {(() => unknown)[]} */
const undo = [];
const { services } = readCompose();

/** Host paths and volumes of the services. */
function mountFrom(/** @type {string} */ source) {
  const place = path.join(folder, source.startsWith('./secrets') ? source : `volumes/${source}`);
  mkdirSync(place, { recursive: true });
  return place;
}

/**
 * @param {string} name of the service
 * @param {string} image
 * @param {readonly string[]} [command]
 * @param {Record<string, string>} [environment] beside that of the file
 */
async function container(name, image, command, environment) {
  const service = services[name];
  if (service === undefined) throw new Error(`docker/compose.yaml has no service ${name}.`);
  const own = command === undefined ? service : { ...service, command: [...command] };
  return await prepareContainer(tagOf(image), own, {
    name: command === undefined ? name : `${name}-${command.at(-1)}`,
    folder: path.join(folder, 'bundles'),
    mountFrom,
    hosts,
    ...(environment && { environment }),
  });
}

const crun = (/** @type {string} */ bundleFolder, /** @type {string} */ name) => [
  ...['--root', path.join(folder, 'crun'), '--cgroup-manager=disabled', 'run'],
  ...['--pid-file', path.join(bundleFolder, 'pid'), '--bundle', bundleFolder, name],
];

/**
 * Runs a service to its end.
 * @param {string} name
 * @param {readonly string[]} [command]
 */
async function once(name, command) {
  const { bundle: place } = await container(name, 'tools', command);
  const { stdout } = await run('crun', crun(place, `${name}-${path.basename(place)}`));
  return stdout;
}

/** A file's path, mode, size and time: whether a second start has changed any. */
function listing(/** @type {string} */ root) {
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .sort()
    .map((file) => {
      const { mode, size, mtimeMs, uid } = lstatSync(path.join(root, file));
      return `${file} ${mode.toString(8)} ${uid} ${size} ${mtimeMs}`;
    })
    .join('\n');
}

/** Files of an image: none but these. */
function checkFiles(/** @type {string} */ image, /** @type {string} */ root) {
  const allowed =
    /^(etc\/(passwd|group|nsswitch\.conf|ssl\/certs\/ca-certificates\.crt)|usr\/bin\/node|lib(64)?\/ld-linux-[\w-]+\.so\.\d|lib\/lib(c|dl|gcc_s|m|pthread|stdc\+\+)\.so\.\d|app\/main\.js(\.map)?|app\/debian-openssl\.txt|app\/apps\/dns-gateway\/data\/underscored-names\.csv|app\/swagger-ui\/(swagger-ui(-bundle\.js|\.css)|favicon-32x32\.png)\.gz)$/;
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(
    (file) => !lstatSync(path.join(root, file)).isDirectory(),
  );
  // Mount points, which crun creates.
  const unexpected = files.filter((file) => !allowed.test(file) && file !== 'etc/hosts');
  check(unexpected.length === 0, `${image} contains ${unexpected.slice(0, 5).join(', ')}`);
}

const ticksPerSecond = 100;
/** Processor time of a process so far, in seconds. */
function processorSeconds(/** @type {number} */ pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

const statusOf = (/** @type {number} */ pid, /** @type {string} */ field) =>
  new RegExp(`^${field}:\\s+(\\S+)`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '';

/** @type {Record<string, Record<string, string>>} */
const onLoopback = Object.fromEntries(
  ['orders-v3', 'issuance-worker', 'dns-gateway', 'notifier', 'prober', 'ct-ingest'].map((name) => [
    name,
    { ALLOWED_NETWORKS: '127.0.0.0/8' },
  ]),
);

/** @param {string} name */
async function startApp(name) {
  const { bundle: place, root } = await container(name, name, undefined, onLoopback[name]);
  checkFiles(name, root);
  const begunMs = performance.now();
  const logFile = path.join(folder, 'logs', `${name}.log`);
  const child = await launch({
    command: 'crun',
    args: crun(place, name),
    cwd: folder,
    env: process.env,
    logFile,
  });
  undo.push(() => stopChild(child, { graceMs: 60_000 }));
  const [, port = ''] = /127\.0\.0\.1:(\d+)/.exec(services[name]?.healthcheck?.test.join(' ') ?? '') ?? [];
  const ops = `http://127.0.0.1:${port}`;
  // ct-ingest is not ready before it has a log list, which is on the Internet.
  const isAlone = name === 'ct-ingest';
  await untilReady(httpProbe(`${ops}/${isAlone ? 'healthz' : 'readyz'}`), {
    child,
    what: name,
    withinMs: READY_WITHIN_MS,
    signal: new AbortController().signal,
  });
  const wall = (performance.now() - begunMs) / 1_000;
  const pid = Number(readFileSync(path.join(place, 'pid'), 'utf8'));
  const spent = processorSeconds(pid);
  check((await fetch(`${ops}/healthz`)).ok, `${name}: /healthz is not 200`);
  check(statusOf(pid, 'Uid') === '10001', `${name} does not run as 10001`);
  check(/^0+$/.test(statusOf(pid, 'CapEff')), `${name} has capabilities`);
  check(statusOf(pid, 'Seccomp') === '2', `${name} runs without seccomp`);
  check(statusOf(pid, 'NoNewPrivs') === '1', `${name} may get new privileges`);
  check(
    statusOf(pid, 'NSpid') !== '' && readFileSync(`/proc/${pid}/comm`, 'utf8') !== 'crun\n',
    `${name}: no pid 1`,
  );
  const { appBytes, compressedBytes } = imageSizes(tagOf(name));
  check(appBytes <= LIMITS.appBytes, `${name}: its layer has ${appBytes} bytes`);
  check(
    compressedBytes <= LIMITS.compressedBytes,
    `${name}: the image has ${compressedBytes} bytes, compressed`,
  );
  // On a busy machine only the processor time says how long a start takes.
  check(
    Math.min(wall, spent) <= LIMITS.readySeconds,
    `${name}: ready after ${wall} s, ${spent} s of processor time`,
  );
  return { name, pid, wall, spent, appBytes, compressedBytes, child };
}

async function main() {
  const secrets = mountFrom('./secrets');
  console.log('== setup, the first time');
  process.stdout.write(await once('secrets'));
  const password = readFileSync(path.join(secrets, 'postgres/password'), 'utf8').trim();
  const postgres = await startPostgres({
    workspaceRoot,
    folder: path.join(imagesFolder, 'check-postgres'),
    port: 5432,
    durable: false,
    signal: new AbortController().signal,
  });
  undo.push(async () => {
    await postgres.stop();
    rmSync(path.join(imagesFolder, 'check-postgres'), { recursive: true, force: true });
  });
  const { Client } = createRequire(import.meta.url)('pg');
  const client = new Client({ connectionString: postgres.url() });
  await client.connect();
  await client.query(`ALTER ROLE certwright PASSWORD '${password}'`);
  await client.end();
  const redis = await redisBinary({ cache: places.redisBinaries });
  const redisArgs = [path.join(secrets, 'redis/redis.conf'), '--bind', '127.0.0.1'];
  await service('redis', redis.command, redisArgs, redis.env);
  const printed = await once('setup');
  process.stdout.write(printed);
  const apiKey = /API key\s+(\S+)/.exec(printed)?.[1] ?? '';
  check(apiKey !== '', 'setup has printed no API key');

  console.log('== setup, the second time');
  const before = listing(secrets);
  await once('secrets', ['setup', 'secrets']);
  const again = await once('setup', ['setup', 'database']);
  check(listing(secrets) === before, 'the second setup has changed secrets');
  check(again.includes(apiKey), 'the second setup has printed another API key');

  const dns = 'dist/tools/demo-dns';
  await bundle({ main: 'tools/demo-dns/main.ts' }, dns);
  const control = 'http://127.0.0.1:8053';
  await service('demo-dns', nodeBinary(), [path.join(workspaceRoot, dns, 'main.js')], {
    DATA_FILE: path.join(folder, 'demo-dns.json'),
    DNS_HOST: '127.0.0.1',
    DNS_PORT: '53',
    CONTROL_PORT: '8053',
    DEMO_ZONES: 'example.com',
    DEMO_TSIG_KEY: `demo:hmac-sha256:${Buffer.alloc(32).toString('base64')}`,
  });
  await service(
    'tls',
    'caddy',
    ['run', '--adapter', 'caddyfile', '--config', path.join(workspaceRoot, 'docker/Caddyfile')],
    {
      XDG_DATA_HOME: path.join(folder, 'tls'),
      XDG_CONFIG_HOME: path.join(folder, 'tls'),
      HOME: folder,
    },
  );

  const apps = [];
  for (const name of images.filter((each) => each !== 'tools')) apps.push(await startApp(name));
  await delay(AT_REST_MS);
  console.log('\nimage                app MB  compressed MB  ready s  processor s  memory MB');
  for (const { name, pid, wall, spent, appBytes, compressedBytes } of apps) {
    const rest = Number(statusOf(pid, 'VmRSS')) * 1_024;
    check(rest <= LIMITS.restBytes, `${name} takes ${(rest / 1e6).toFixed(0)} MB at rest`);
    const row = [appBytes / 1e6, compressedBytes / 1e6, wall, spent, rest / 1e6];
    console.log(`${name.padEnd(20)} ${row.map((value) => value.toFixed(1).padStart(9)).join(' ')}`);
  }

  console.log('\n== a first order');
  await firstOrder(apiKey, control);

  console.log('== stop');
  for (const { name, child } of apps) {
    await stopChild(child, { graceMs: 60_000 });
    const log = readFileSync(path.join(folder, 'logs', `${name}.log`), 'utf8');
    check(log.includes('"msg":"stopped"'), `${name} has not stopped in order`);
  }
}

/**
 * @param {string} apiKey
 * @param {string} control of the demo DNS
 */
async function firstOrder(apiKey, control) {
  const root = path.join(folder, 'tls/caddy/pki/authorities/local/root.crt');
  const own = (/** @type {string} */ name) => path.join(folder, name);
  const curl = async (/** @type {string[]} */ ...args) =>
    (await run('curl', ['-sS', '--cacert', root, ...args])).stdout;
  const key = ['-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256', '-out', own('key.pem')];
  await run('openssl', ['genpkey', ...key]);
  const names = ['-subj', '/', '-addext', 'subjectAltName=DNS:www.example.com', '-outform', 'DER'];
  await run('openssl', ['req', '-new', '-key', own('key.pem'), ...names, '-out', own('request.der')]);
  const body = { dns_names: ['www.example.com'], csr: readFileSync(own('request.der')).toString('base64') };
  const order = JSON.parse(
    await curl(
      ...['https://localhost/api/v3/orders?expand=issuance', '-H', `Authorization: Bearer ${apiKey}`],
      ...['-H', 'Content-Type: application/json', '-d', JSON.stringify(body)],
    ),
  );
  const [record] = order.issuance.names[0].record.options;
  await publish(control, record);
  for (let tries = 0; tries < 120; tries++) {
    const chain = await curl(order.current_cert_download);
    if (chain.includes('BEGIN CERTIFICATE')) {
      console.log(`issued at ${order.current_cert_download.replace(/[^/]+$/, '…')} after ${tries} s`);
      return;
    }
    await delay(1_000);
  }
  problems.push('the first order was not issued within 120 s');
}

/**
 * @param {string} name
 * @param {string} command
 * @param {readonly string[]} args
 * @param {Record<string, string>} [environment]
 */
async function service(name, command, args, environment = {}) {
  const logFile = path.join(folder, 'logs', `${name}.log`);
  const child = await launch({
    command,
    args,
    cwd: folder,
    env: { ...process.env, ...environment },
    logFile,
  });
  undo.push(() => stopChild(child));
}

/**
 * @param {string} control
 * @param {{ name: string, type: string, value: string }} record
 */
async function publish(control, { name, type, value }) {
  const response = await fetch(`${control}/records`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name, type, value }),
  });
  if (!response.ok) throw new Error(`The demo DNS has refused ${type} ${name}: ${await response.text()}`);
}

try {
  await main();
} catch (error) {
  problems.push(error instanceof Error ? error.message : String(error));
} finally {
  for (const step of undo.reverse()) await Promise.resolve().then(step).catch(console.error);
  await runBuildah(['rm', '--all']).catch(console.error);
}
for (const problem of problems) console.error(`FAILED: ${problem}`);
if (problems.length === 0) console.log('All images run as docker/compose.yaml starts them.');
process.exit(problems.length === 0 ? 0 : 1);
