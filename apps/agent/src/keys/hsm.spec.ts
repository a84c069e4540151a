import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { FakeServer } from '../testing/fake-server';
import { newJoinText, newSeed, TestHost } from '../testing/test-host';

const library = '/usr/lib/softhsm/libsofthsm2.so';
const isPossible = [library, '/usr/bin/softhsm2-util', '/usr/bin/pkcs11-tool'].every((file) =>
  existsSync(file),
);
if (!isPossible)
  console.warn(
    'Skipped: the specs of csr_command need softhsm2 and opensc; run tools/test/peers.sh as root.',
  );

const order = 'www.example.com';
const configured = (program: string) =>
  `[keys]\ncsr_command = ${JSON.stringify([process.execPath, program])}\n[[install]]\norder = "${order}"\n`;

/** As an operator would write it: a new key in the token, and a CSR that the token signs. */
const program = (folder: string) => `
const { execFileSync } = require('node:child_process');
const { createHash, randomBytes } = require('node:crypto');
const { readFileSync, writeFileSync } = require('node:fs');
const { order, dns_names: names, key_type: type } = JSON.parse(readFileSync(0, 'utf8'));
if (type !== 'ecdsa') throw new Error('only ECDSA keys');
process.env.SOFTHSM2_CONF = '${folder}/softhsm2.conf';
const tool = (...args) => execFileSync('/usr/bin/pkcs11-tool',
  ['--module', '${library}', '--token-label', 'agent', '--login', '--pin', '1234', ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
const id = randomBytes(8).toString('hex');
tool('--keypairgen', '--key-type', 'EC:prime256v1', '--id', id, '--label', order, '--sensitive');
const spki = tool('--read-object', '--type', 'pubkey', '--id', id);
const tlv = (tag, ...parts) => {
  const content = Buffer.concat(parts);
  const length = content.length < 128 ? [content.length] : content.length < 256 ? [0x81, content.length] : [0x82, content.length >> 8, content.length & 255];
  return Buffer.concat([Buffer.from([tag, ...length]), content]);
};
const oid = (hex) => tlv(6, Buffer.from(hex, 'hex'));
const san = tlv(0x30, ...names.map((name) => tlv(0x82, Buffer.from(name))));
const extensions = tlv(0x30, tlv(0x30, oid('551d11'), tlv(4, san)));
const attribute = tlv(0x30, oid('2a864886f70d01090e'), tlv(0x31, extensions));
const info = tlv(0x30, tlv(2, Buffer.of(0)), tlv(0x30), spki, tlv(0xa0, attribute));
writeFileSync('${folder}/hash', createHash('sha256').update(info).digest());
tool('--sign', '--mechanism', 'ECDSA', '--id', id, '--signature-format', 'openssl', '--input-file', '${folder}/hash', '--output-file', '${folder}/signature');
const signature = tlv(3, Buffer.of(0), readFileSync('${folder}/signature'));
const csr = tlv(0x30, info, tlv(0x30, oid('2a8648ce3d040302')), signature);
console.log('-----BEGIN CERTIFICATE REQUEST-----\\n' + csr.toString('base64').replace(/.{64}/g, '$&\\n') + '\\n-----END CERTIFICATE REQUEST-----');
`;

let server: FakeServer;
let host: TestHost;
beforeEach(async () => {
  server = await FakeServer.start();
  host = new TestHost(server);
  host.joinText = newJoinText(server, { seed: newSeed() });
});
afterEach(async () => {
  await host.end();
  await server.stop();
});

(isPossible ? it : it.skip)('installs the certificate of a key that stays in the HSM', async () => {
  const folder = path.join(host.folder, 'token');
  mkdirSync(path.join(folder, 'tokens'), { recursive: true });
  writeFileSync(
    path.join(folder, 'softhsm2.conf'),
    `directories.tokendir = ${folder}/tokens\nlog.level = ERROR\n`,
  );
  execFileSync(
    'softhsm2-util',
    ['--init-token', '--free', '--label', 'agent', '--pin', '1234', '--so-pin', '1234'],
    {
      env: { SOFTHSM2_CONF: path.join(folder, 'softhsm2.conf'), PATH: '/usr/bin:/bin' },
      stdio: 'pipe',
    },
  );
  writeFileSync(path.join(folder, 'csr.cjs'), program(folder));
  host.configure(configured(path.join(folder, 'csr.cjs')));
  await host.enrol();
  const ordered = server.addOrder(order);
  await host.agent().once();
  expect(server.lastReport(order)).toMatchObject({
    state: 'installed',
    certificate_sha256: ordered.issued?.sha256,
  });
  expect(readdirSync(path.join(host.state, 'orders', order, 'current')).sort()).toEqual([
    'cert.pem',
    'chain.pem',
    'fullchain.pem',
  ]);
  const [stored = ''] = readdirSync(path.join(host.state, 'keys'));
  expect(JSON.parse(readFileSync(path.join(host.state, 'keys', stored), 'utf8'))).toMatchObject({
    order,
    pkcs8: null,
  });
});

describe('csr_command', () => {
  const opensslCsr = (dnsNames: readonly string[], ...options: readonly string[]) => {
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout'];
    const names = `subjectAltName=${dnsNames.map((name) => `DNS:${name}`).join()}`;
    return execFileSync(
      'openssl',
      ['req', '-new', ...key, path.join(host.folder, 'key.pem'), '-subj', '/', '-addext', names, ...options],
      { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] },
    );
  };
  const withCommand = async (script: string, dnsNames = [order]) => {
    const file = path.join(host.folder, 'csr.cjs');
    writeFileSync(file, script);
    host.configure(configured(file));
    await host.enrol();
    server.addOrder(order, { dnsNames });
    const agent = host.agent();
    await agent.once();
    return agent.problem();
  };

  it.each([
    ['fails', 'console.error("no token"); process.exit(1)', /csr_command failed: .* returned 1: no token/],
    [
      'prints something else',
      'console.log("hello")',
      /csr_command printed something that is not a CSR; print one in PEM/,
    ],
    ['prints nothing', '', /csr_command printed something that is not a CSR/],
  ])('that %s sends nothing, and the report says why', async (_what, script, problem) => {
    expect(await withCommand(script)).toMatch(problem);
    expect(server.csrs).toEqual([]);
    expect(server.reports.at(-1)?.agent.problem).toMatch(problem);
  });

  it('that prints text around the CSR is understood, as openssl req -text and certutil -R do', async () => {
    const csr = opensslCsr([order], '-text');
    expect(csr).toMatch(/^Certificate Request:/);
    expect(await withCommand(`console.log(${JSON.stringify(csr)})`)).toBeNull();
    expect(server.csrs).toHaveLength(1);
  });

  it.each(['PEM', 'DER'])('that prints a CSR of 100 long names as %s is understood', async (form) => {
    const dnsNames = Array.from(
      { length: 100 },
      (_, at) => `${'x'.repeat(63)}.${'y'.repeat(63)}.${'z'.repeat(40)}${at}.example.com`,
    );
    const pem = opensslCsr(dnsNames);
    const text = form === 'PEM' ? pem : pem.replace(/-----.*-----|\n/g, '');
    expect(await withCommand(`console.log(${JSON.stringify(text)})`, dnsNames)).toBeNull();
    expect(server.csrs).toHaveLength(1);
  });

  it('that prints a CSR for other names sends nothing', async () => {
    const csr = opensslCsr(['other.example.com']);
    expect(await withCommand(`console.log(${JSON.stringify(csr)})`)).toContain(
      'a CSR for other names; use exactly those of dns_names',
    );
    expect(server.csrs).toEqual([]);
  });
});
