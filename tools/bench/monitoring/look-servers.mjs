// TLS servers on many loopback addresses, and a name server for them. Arguments: a folder, and how many.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { createRequire } from 'node:module';
import path from 'node:path';
import { workspaceRoot } from '../../build/bundle.mjs';
import { freePort, LOOPBACK } from '../../embedded/ports.mjs';

const [folder, count] = process.argv.slice(2);
const require = createRequire(path.join(workspaceRoot, 'dist/bench/ct', 'any.js'));
const { DnsServer, MemoryZone, MemoryZones } = require('./dns-authority.js');

const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', 'key'];
const names = ['-subj', '/CN=bench', '-addext', 'subjectAltName=DNS:*.example.com', '-days', '5'];
execFileSync('openssl', ['req', '-x509', ...newKey, ...names, '-out', 'pem'], { cwd: folder, stdio: 'pipe' });
const [key, pem] = ['key', 'pem'].map((file) => readFileSync(path.join(folder, file), 'utf8'));
const port = await freePort();
// Three certificates, as usual.
const options = { key, cert: pem.repeat(3) };
const records = [];
for (let nth = 0; nth < Number(count); nth += 1) {
  const address = `127.${90 + (nth >> 8)}.${nth & 255}.1`;
  const server = createServer(options, (request, response) => response.end());
  await new Promise((resolve, reject) => server.once('error', reject).listen(port, address, resolve));
  records.push({ name: `h${nth}.example.com`, ttl: 60, type: 'A', data: address });
}
const soa = { mname: 'ns.com', rname: 'ns.com', serial: 1, refresh: 1, retry: 1, expire: 1, minimum: 1 };
const zone = new MemoryZone('example.com', [
  { name: 'example.com', ttl: 60, type: 'SOA', data: soa },
  ...records,
]);
const dns = new DnsServer({ host: LOOPBACK, port: 0, source: new MemoryZones([zone]) });
const { port: dnsPort } = await dns.listen();
process.send({ port, resolver: `${LOOPBACK}:${dnsPort}` });
process.once('disconnect', () => process.exit());
