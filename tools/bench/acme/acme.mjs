// Compares ACME clients with one local CA: certificates per second, CPU of the client per certificate, and failures when
// the CA refuses half of the nonces.
import { execFileSync, fork } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundle } from '../../build/bundle.mjs';
import { startPebble } from '../../peers/pebble.mjs';
import { certificationRequest } from '../issuance/certification-requests.mjs';
import { measurePlatform } from './platform.mjs';
import { openPresenter } from './challenge-server.mjs';
import { platformSection, section } from './section.mjs';

const usage = `npm run bench -- acme [N] [--concurrency N] [--rounds N] [--only NAME,NAME]

  N                certificates per client, without and with refused nonces each (default 100)
  --concurrency N  orders at a time (default 8); with another number, the page stays as it is
  --rounds N       turns that each client takes (default 4)
  --only …         of: ours, ours-waiting, acme-client, lego, certbot, platform; of the page it writes only the platform's section`;

const usualConcurrency = 8;
const clients = ['ours', 'ours-waiting', 'acme-client', 'lego', 'certbot'];
/** Certificates that are issued before the measurement, to warm up long-running clients. */
const warmUp = 16;
const nonceRejects = [0, 50];
/** Pinned, because the table names the version. */
const acmeClient = 'acme-client@5.4.0';

/** @param {readonly string[]} args */
export async function acme(args) {
  if (args.includes('--help')) return void console.log(usage);
  const option = (name) => args[args.indexOf(`--${name}`) + 1 || args.length];
  const count = Number(
    args.find((arg) => /^\d+$/.test(arg) && !args[args.indexOf(arg) - 1]?.startsWith('--')) ?? 100,
  );
  const concurrency = Number(option('concurrency') ?? usualConcurrency);
  const rounds = Number(option('rounds') ?? 4);
  const names = option('only')?.split(',') ?? clients;
  const say = (line) => console.log(`- ${line}`);
  const folder = mkdtempSync(path.join(tmpdir(), 'certwright-bench-acme-'));
  const undo = [() => rmSync(folder, { recursive: true, force: true })];
  const stop = async () => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  const interrupted = () => void stop().then(() => process.exit(1));
  process.once('SIGINT', interrupted);
  try {
    await bundle({ client: 'apps/issuance-worker/src/acme/index.ts' }, 'dist/bench/acme');
    const libraries = names.includes('acme-client') ? install(folder, say) : folder;
    const orders = makeOrders(folder, count + warmUp);
    const runs = [];
    for (const nonceReject of names.some((name) => clients.includes(name)) ? nonceRejects : []) {
      say(`starting pebble, which refuses ${nonceReject} % of good nonces`);
      const setting = { folder, libraries, concurrency, nonceReject, orders, rounds, names, say };
      runs.push({ nonceReject, results: await compare(setting, undo) });
    }
    const withPlatform = option('only') === undefined || names.includes('platform');
    const platform = withPlatform ? await measurePlatform({ folder, count, concurrency, say }) : null;
    const sections = [];
    if (runs.length > 0)
      sections.push({ ...section({ runs, count, concurrency }), isWhole: option('only') === undefined });
    if (platform !== null) sections.push({ ...platformSection(platform, concurrency), isWhole: true });
    // Others are printed, and not written to the page: they cannot be compared with it.
    const isForPage = ({ isWhole }) => isWhole && concurrency === usualConcurrency;
    for (const other of sections.filter((each) => !isForPage(each))) console.log(`\n${other.text}`);
    return sections.filter(isForPage);
  } finally {
    process.removeListener('SIGINT', interrupted);
    await stop();
  }
}

/** Not a dependency of this repository: the package is installed in the temporary folder. */
function install(folder, say) {
  const libraries = path.join(folder, 'libraries');
  mkdirSync(libraries);
  writeFileSync(path.join(libraries, 'package.json'), '{"private":true}');
  say(`fetching ${acmeClient}`);
  try {
    const args = ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--no-save', acmeClient];
    execFileSync('npm', args, { cwd: libraries, stdio: 'pipe', timeout: 120_000 });
  } catch {
    say(`${acmeClient} could not be fetched: it is left out`);
  }
  return libraries;
}

function makeOrders(folder, count) {
  const csrs = path.join(folder, 'csrs');
  mkdirSync(csrs);
  return Array.from({ length: count }, (_, index) => {
    const name = `www${index}.bench.example.com`;
    const csrFile = path.join(csrs, `${name}.csr`);
    const lines = certificationRequest(name)
      .match(/.{1,64}/g)
      .join('\n');
    writeFileSync(
      csrFile,
      `-----BEGIN CERTIFICATE REQUEST-----\n${lines}\n-----END CERTIFICATE REQUEST-----\n`,
    );
    return { name, csrFile };
  });
}

/** One pebble, all clients, one after the other in each round. @returns by client, sums over all rounds */
async function compare({ folder, libraries, concurrency, nonceReject, orders, rounds, names, say }, undo) {
  const pebble = await startPebble({ nonceReject });
  undo.push(pebble.stop);
  const presenter = await openPresenter(pebble.challengesUrl);
  undo.push(presenter.close);
  const tlsRootFile = path.join(folder, `root-${nonceReject}.pem`);
  writeFileSync(tlsRootFile, pebble.tlsRoot);
  const [warming, measured] = [orders.slice(0, warmUp), orders.slice(warmUp)];
  const contenders = new Map();
  for (const name of names.filter((each) => clients.includes(each))) {
    const own = path.join(folder, `${name}-${nonceReject}`);
    mkdirSync(own);
    const { directoryUrl, challengesUrl, resolver } = pebble;
    const common = { directoryUrl, challengesUrl, resolver, tlsRootFile, presenterUrl: presenter.url };
    const setting = { ...common, concurrency, folder: own, libraries, firstOrder: warming[0] };
    const contender = startContender(name, setting);
    undo.push(contender.stop);
    const { missing } = await contender.ready;
    if (missing === undefined) contenders.set(name, contender);
    else say(`${name} is left out: ${missing}`);
  }
  const results = new Map();
  for (const [name, { round }] of contenders) if (!isProgram(name)) await round(warming);
  for (let turn = 0; turn < rounds; turn += 1) {
    const share = measured.filter((_, index) => index % rounds === turn);
    // A client with all orders open at once gets all of them in one turn.
    const part = (name) => (name !== 'ours-waiting' ? share : turn === 0 ? measured : []);
    say(`round ${turn + 1} of ${rounds}: ${share.length} certificates by each`);
    for (const [name, { round }] of contenders) {
      if (part(name).length > 0) results.set(name, sum(results.get(name), await round(part(name))));
    }
  }
  for (const { stop } of contenders.values()) await stop();
  await pebble.stop();
  return results;
}

const isProgram = (name) => name === 'lego' || name === 'certbot';

function sum(before, { issued, problems, seconds, cpuMs }) {
  return {
    issued: (before?.issued ?? 0) + issued,
    problems: [...(before?.problems ?? []), ...problems],
    seconds: (before?.seconds ?? 0) + seconds,
    cpuMs: (before?.cpuMs ?? 0) + cpuMs,
  };
}

const program = fileURLToPath(new URL('contender.mjs', import.meta.url));
/** For one round of a client. */
const roundTimeoutMs = 10 * 60_000;

/**
 * @param {string} name
 * @param {import('./contender.mjs').Setting} setting
 */
function startContender(name, setting) {
  const child = fork(program, [name], { env: { ...process.env, NODE_EXTRA_CA_CERTS: setting.tlsRootFile } });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const send = async (message) =>
    await new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`${name} did not finish in time`)), roundTimeoutMs);
      const over = (code) => reject(new Error(`${name} exited (${code})`));
      child.once('exit', over);
      child.once('message', (result) => {
        clearTimeout(timer);
        child.removeListener('exit', over);
        resolve(result);
      });
      child.send(message);
    });
  const stop = async () => {
    child.kill('SIGKILL');
    await ended;
  };
  return { ready: send(setting), round: send, stop };
}
