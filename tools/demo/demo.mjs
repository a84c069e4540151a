// `npm run demo`: issues a certificate through the public HTTP API and a real DNS server, with openssl, curl and dig. Every
// command that is printed after `$` is run exactly as printed.
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const workspaceRoot = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const home = path.resolve(process.env.CERTWRIGHT_HOME ?? path.join(workspaceRoot, '.certwright'));

/** The first check of a name is immediate, later ones follow within seconds. */
const timeoutMs = 30_000;
const pollIntervalMs = 500;

const started = readStart();
const name = `shop-${randomBytes(2).toString('hex')}.${started.demo_zone}`;
const folder = path.join(home, 'demo', name);
mkdirSync(folder, { recursive: true, mode: 0o700 });

const [dnsHost, dnsPort] = splitAddress(started.resolver);
const environment = {
  API: started.apis.orders_v3,
  API_KEY: started.api_key,
  DNS_CONTROL: started.dns_control,
  ROOT: started.sandbox_root,
  NAME: name,
};

await main();

async function main() {
  need('openssl');
  explain(`API is ${environment.API}; API_KEY is the key of your sandbox account.`);

  step('Create a key and a certificate signing request');
  shell('openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out key.pem');
  shell(
    'openssl req -new -key key.pem -subj / -addext "subjectAltName=DNS:$NAME" -outform DER -out request.der',
  );

  step('Order a certificate');
  const csr = readFileSync(path.join(folder, 'request.der')).toString('base64');
  writeFileSync(path.join(folder, 'order.json'), JSON.stringify({ dns_names: [name], csr }));
  explain(`order.json: {"dns_names": ["${name}"], "csr": "${csr.slice(0, 24)}…"}`);
  const order = http('POST', '/api/v3/orders?expand=issuance', 'order.json');
  const { phase, names } = order.issuance;
  const [record] = names[0].record.options;
  explain(`phase: ${phase}. This record approves the order, now and at every renewal:`);
  explain(`  ${record.name}  ${record.type}  ${record.value}`);

  step('Publish the record in DNS');
  explain('(The sandbox has a DNS server for the demo zone, which accepts HTTP requests and nsupdate.)');
  writeFileSync(
    path.join(folder, 'record.json'),
    JSON.stringify({ name: record.name, type: record.type, value: record.value }),
  );
  publish();
  if (has('dig')) shell(`dig +short -p ${dnsPort} @${dnsHost} ${record.name} ${record.type}`, { echo: true });
  else
    explain('(dig is not installed, so the record is not shown. Install it: apt-get install bind9-dnsutils)');

  step('Download the certificate from the public URL of the order');
  const chain = await download(order.current_cert_download);
  writeFileSync(path.join(folder, 'chain.pem'), chain);
  const [leaf, ...others] =
    chain.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----\n/g) ?? [];
  writeFileSync(path.join(folder, 'leaf.pem'), leaf ?? '');
  writeFileSync(path.join(folder, 'intermediates.pem'), others.join(''));

  step('Verify chain, name and key');
  shell('openssl verify -CAfile "$ROOT" -untrusted chain.pem -verify_hostname "$NAME" chain.pem', {
    echo: true,
  });
  const keys = ['openssl pkey -in key.pem -pubout', 'openssl x509 -in chain.pem -noout -pubkey'].map((line) =>
    shell(line),
  );
  if (keys[0] !== keys[1]) fail('The key of the certificate is not the key of the request.');
  explain('The key of the certificate is the key of the request.');

  step('The certificate');
  shell('openssl x509 -in chain.pem -noout -text', { echo: true });
  explain(`All files are in ${path.relative(process.cwd(), folder)}.`);
}

function readStart() {
  try {
    return JSON.parse(readFileSync(path.join(home, 'start.json'), 'utf8'));
  } catch {
    return fail('Certwright is not running here: run "npm start" in another terminal first.');
  }
}

/** Sends a request to the API with curl, or with Node if curl is not installed. */
function http(method, target, bodyFile) {
  const line =
    `curl -sS -X ${method} "$API${target}" -H "Authorization: Bearer $API_KEY" ` +
    `-H "Content-Type: application/json" --data @${bodyFile}`;
  const order = parse(
    has('curl') ? shell(line) : requestWithNode(method, `${environment.API}${target}`, bodyFile, true),
  );
  if (order.code !== undefined) fail(JSON.stringify(order, null, 2));
  return order;
}

function publish() {
  const line =
    'curl -sS -X POST "$DNS_CONTROL/records" -H "Content-Type: application/json" --data @record.json';
  const response = parse(
    has('curl')
      ? shell(line)
      : requestWithNode('POST', `${environment.DNS_CONTROL}/records`, 'record.json', false),
  );
  if (response.code !== undefined) fail(JSON.stringify(response, null, 2));
}

/** A small child process, so that the demo stays a plain sequence of lines. */
function requestWithNode(method, url, bodyFile, authenticated) {
  explain('(curl is not installed, so Node sends the request. Install it: apt-get install curl)');
  const script = `
    const [method, url, file, key] = process.argv.slice(1);
    const headers = { 'content-type': 'application/json', ...(key === '' ? {} : { authorization: 'Bearer ' + key }) };
    fetch(url, { method, headers, body: require('node:fs').readFileSync(file) })
      .then(async (response) => process.stdout.write(await response.text()));`;
  const args = ['-e', script, method, url, bodyFile, authenticated ? environment.API_KEY : ''];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' });
  if (status !== 0) fail(stderr);
  return stdout;
}

async function download(url) {
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

function shell(line, { echo = false } = {}) {
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

function has(program) {
  return spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;
}

function need(program) {
  if (!has(program)) fail(`${program} is not installed: apt-get install ${program}`);
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return fail(`Not JSON: ${text.slice(0, 200)}`);
  }
}

function splitAddress(address) {
  const colon = address.lastIndexOf(':');
  return [address.slice(0, colon), address.slice(colon + 1)];
}

function step(text) {
  say(`\n\u001b[1m${text}\u001b[0m`);
}

function explain(text) {
  say(`  ${text}`);
}

function say(text) {
  process.stdout.write(`${text}\n`);
}

function fail(text) {
  process.stderr.write(`${text}\n`);
  process.exit(1);
}
