// What the demos share. Every command that is printed after `$` is run exactly as printed.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

export const workspaceRoot = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const home = path.resolve(process.env.CERTWRIGHT_HOME ?? path.join(workspaceRoot, '.certwright'));

/** The first check of a name is immediate, later ones follow within seconds. */
const timeoutMs = 30_000;
const pollIntervalMs = 500;

/** Content of start.json. */
export const started = readStart();

/** Variables of the printed commands. */
export const environment = {
  API: started.apis.orders_v3,
  API_KEY: started.api_key,
  DNS_CONTROL: started.dns_control,
  ROOT: started.sandbox_root,
};

let folder = home;

/** @param {string} name of the folder for the files of this run, or its path */
export function useFolder(name) {
  folder = path.resolve(home, 'demo', name);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return folder;
}

export const read = (file) => readFileSync(path.join(folder, file), 'utf8');
export const write = (file, text) => writeFileSync(path.join(folder, file), text);

/** Orders a certificate for NAME with the CSR in request.der, and approves it in DNS. @returns the order */
export function orderCertificate(name) {
  const csr = readFileSync(path.join(folder, 'request.der')).toString('base64');
  write('order.json', JSON.stringify({ dns_names: [name], csr }));
  explain(`order.json: {"dns_names": ["${name}"], "csr": "${csr.slice(0, 24)}…"}`);
  const order = http('POST', '/api/v3/orders?expand=issuance', 'order.json');
  const { phase, names } = order.issuance;
  const [record] = names[0].record.options;
  explain(`phase: ${phase}. This record approves the order, now and at every renewal:`);
  explain(`  ${record.name}  ${record.type}  ${record.value}`);
  return { order, record };
}

export function publish(record) {
  write('record.json', JSON.stringify({ name: record.name, type: record.type, value: record.value }));
  const line =
    'curl -sS -X POST "$DNS_CONTROL/records" -H "Content-Type: application/json" --data @record.json';
  const response = parse(
    has('curl')
      ? shell(line)
      : requestWithNode('POST', `${environment.DNS_CONTROL}/records`, 'record.json', 'application/json', ''),
  );
  if (response.code !== undefined) fail(JSON.stringify(response, null, 2));
}

/**
 * Waits for something that takes seconds.
 *
 * @template T
 * @param {string} what
 * @param {() => Promise<T | undefined>} look
 * @returns {Promise<T>}
 */
export async function until(what, look, withinMs = timeoutMs) {
  const deadline = Date.now() + withinMs;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (Date.now() > deadline) fail(`No ${what} after ${withinMs / 1000} s.`);
    await delay(pollIntervalMs);
  }
}

function readStart() {
  try {
    return JSON.parse(readFileSync(path.join(home, 'start.json'), 'utf8'));
  } catch {
    return fail('Certwright is not running here: run "npm start" in another terminal first.');
  }
}

/** Sends a request to the API with curl, or with Node if curl is not installed. */
export function http(method, target, bodyFile, { api = 'API', type = 'application/json' } = {}) {
  const line =
    `curl -sS -X ${method} "$${api}${target}" -H "Authorization: Bearer $API_KEY" ` +
    `-H "Content-Type: ${type}" --data-binary @${bodyFile}`;
  const response = parse(
    has('curl') ? shell(line) : requestWithNode(method, `${environment[api]}${target}`, bodyFile, type),
  );
  if (response.code !== undefined) fail(JSON.stringify(response, null, 2));
  return response;
}

/** A small child process, so that the demo stays a plain sequence of lines. */
function requestWithNode(method, url, bodyFile, type, key = environment.API_KEY) {
  explain('(curl is not installed, so Node sends the request. Install it: apt-get install curl)');
  const script = `
    const [method, url, file, type, key] = process.argv.slice(1);
    const headers = { 'content-type': type, ...(key === '' ? {} : { authorization: 'Bearer ' + key }) };
    fetch(url, { method, headers, body: require('node:fs').readFileSync(file) })
      .then(async (response) => process.stdout.write(await response.text()));`;
  const args = ['-e', script, method, url, bodyFile, type, key];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' });
  if (status !== 0) fail(stderr);
  return stdout;
}

export async function download(url) {
  environment.DOWNLOAD = url;
  say(`$ curl -sS "${url}" -o chain.pem`);
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const response = await fetch(url).catch(() => fail(`Cannot connect to ${url}.`));
    if (response.status === 200) return await response.text();
    if (response.status !== 202) fail(`${url} returned ${response.status}: ${await response.text()}`);
    if (Date.now() > deadline)
      fail(`No certificate after ${timeoutMs / 1000} s. See "issuance" in the order for the reason.`);
    explain('202: not issued yet');
    await delay(pollIntervalMs);
  }
}

export function shell(line, { echo = false } = {}) {
  say(`$ ${line}`);
  const { status, stdout, stderr } = spawnSync('sh', ['-c', line], {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, ...environment },
  });
  if (status !== 0) fail(`${stdout}${stderr}`);
  if (echo) say(stdout.trimEnd());
  return stdout;
}

export function has(program) {
  return spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;
}

export function need(program) {
  if (!has(program)) fail(`${program} is not installed: apt-get install ${program}`);
}

export function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return fail(`Not JSON: ${text.slice(0, 200)}`);
  }
}

export function splitAddress(address) {
  const colon = address.lastIndexOf(':');
  return [address.slice(0, colon), address.slice(colon + 1)];
}

export function step(text) {
  say(`\n\u001b[1m${text}\u001b[0m`);
}

export function explain(text) {
  say(`  ${text}`);
}

export function say(text) {
  process.stdout.write(`${text}\n`);
}

export function fail(text) {
  process.stderr.write(`${text}\n`);
  process.exit(1);
}
