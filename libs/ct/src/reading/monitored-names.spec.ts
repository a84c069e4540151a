import { spawn } from 'node:child_process';
import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { MonitoredDomainIndex } from '@certwright/monitored-domains';
import { treeHeadSignatureInput } from '../heads/tree-head';
import { readIssued } from '../index';
import { CompactTree } from '../merkle/compact-tree';
import { leafHash } from '../merkle/hashes';
import {
  alternativeNames,
  attribute,
  commonName,
  dns,
  endless,
  extension,
  forgeCertificate,
  hex,
  ids,
  octetString,
  seq,
  set,
  text,
  tlv,
} from '../testing/forge';

const index = new MonitoredDomainIndex();
for (const domain of ['example.com', '.example.com', 'www.example.com', 'xn--bcher-kva.example.org'])
  index.set('1', domain, true);

type How = 'name' | 'odd name' | 'unreadable' | 'not found';

/** As ct-ingest stores a certificate, and as monitors match it. */
function howFound(der: Buffer): How {
  const { dnsNames, oddNames, layout } = readIssued(der, 'certificate');
  if (layout === null) return index.matchUnreadable(der).accounts.length > 0 ? 'unreadable' : 'not found';
  if (index.match(dnsNames).accounts.length > 0) return 'name';
  return index.match([...dnsNames, ...oddNames]).accounts.length > 0 ? 'odd name' : 'not found';
}

const withNames = (...names: readonly Uint8Array[]) =>
  forgeCertificate({ extensions: [alternativeNames(...names)] });
const san = (name: string | Uint8Array) => withNames(dns(name));
const cn = (value: Uint8Array) =>
  forgeCertificate({ extensions: null, subject: seq(attribute(ids.commonName, value)) });
const utf8 = (name: string) => Buffer.from(name, 'utf8');
const utf16 = (name: string) => Buffer.from(name, 'utf16le').swap16();
const utf32 = (name: string) =>
  Buffer.concat(Array.from(name, (each) => Buffer.from([0, 0, 0, each.charCodeAt(0)])));
const name = 'www.example.com';
const label64 = 'l'.repeat(64);
const rawSan = (value: Uint8Array) =>
  forgeCertificate({ extensions: [extension(ids.subjectAlternativeName, value)] });

const shapes: [what: string, how: How, der: Buffer][] = [
  ['a name', 'name', san(name)],
  ['upper case', 'name', san('WWW.Example.COM')],
  ['a wildcard', 'name', san('*.example.com')],
  ['an asterisk within a label', 'name', san('w*.example.com')],
  ['an asterisk without a dot', 'name', san('*example.com')],
  ['two asterisks', 'name', san('*.*.com')],
  ['an asterisk in the middle', 'name', san('www.*.com')],
  ['a dot at the end', 'name', san('www.example.com.')],
  ['dots at both ends', 'name', san('..www.example.com..')],
  ['an empty label before it', 'name', san('a..www.example.com')],
  ['an empty label in it', 'odd name', san('www.example.com..x')],
  ['spaces around it', 'name', san(' www.example.com ')],
  ['a space before it', 'name', san('foo www.example.com')],
  ['a space after it', 'odd name', san('www.example.com foo')],
  ['a comma after it', 'odd name', san('www.example.com,example.org')],
  ['a comma before it', 'name', san('example.org,www.example.com')],
  ['a semicolon', 'odd name', san('www.example.com;example.org')],
  ['a list in quotation marks', 'odd name', san('"www.example.com" "example.org"')],
  ['a URL', 'name', san('https://www.example.com/path?query#fragment')],
  ['a URL of another scheme', 'odd name', san('ftp://www.example.com/path')],
  ['a URL with a user', 'name', san('https://user@www.example.com:8443/path')],
  ['a prefix', 'name', san('DNS:www.example.com')],
  ['a port', 'name', san('www.example.com:443')],
  ['a port and more', 'name', san('www.example.com:443/x y')],
  ['a port of six digits', 'odd name', san('www.example.com:123456')],
  ['an address in front', 'odd name', san('192.0.2.1,www.example.com 192.0.2.1')],
  ['an address after it', 'name', san('www.example.com/192.0.2.1')],
  ['a mailbox', 'odd name', san('admin@www.example.com>')],
  ['a NUL in the middle', 'name', san('www.example.com\0.example.org')],
  ['a NUL after each character', 'name', san(utf16(name))],
  ['two bytes per character, and more', 'odd name', san(utf16('www.example.com, x'))],
  ['a control character in front', 'name', san('\u0001www.example.com')],
  ['a control character after it', 'odd name', san('www.example.com\u0001.x')],
  ['a line feed between names', 'odd name', san('www.example.com\nexample.org')],
  ['a control character before another domain', 'name', san('www.example.com\u0001.example.org')],
  ['a long name', 'name', san(`${'a.'.repeat(130)}example.com`)],
  ['a name that is far too long', 'name', san(`${'a.'.repeat(5_000)}example.com`)],
  ['a name before a long text', 'odd name', san(`www.example.com ${'x'.repeat(5_000)}`)],
  ['a name within a long text', 'odd name', san(`${'x '.repeat(3_000)}www.example.com${' x'.repeat(3_000)}`)],
  ['a label that is too long', 'name', san(`${label64}.example.com`)],
  ['a label that is too long at the end', 'odd name', san(`www.example.com.${label64}`)],
  ['a U-label', 'name', san(utf8('bücher.example.org'))],
  ['a U-label and a comma', 'odd name', san(utf8('x.example,bücher.example.org,x'))],
  ['a U-label below it', 'name', san(utf8('bücher.example.com'))],
  ['an invalid U-label below it', 'name', san(utf8('\u202ewww.example.com'))],
  ['full-width letters', 'name', san(utf8('ｗｗｗ.example.com'))],
  ['bytes that are not UTF-8', 'name', san(Buffer.from('\xff\xfe.www.example.com', 'latin1'))],
  ['percent encoding', 'odd name', san('www%2eexample%2Ecom')],
  ['a percent-encoded space after it', 'odd name', san('www.example.com%20')],
  ['an underscore', 'name', san('_dmarc.www.example.com')],
  ['a hyphen at the ends of a label', 'name', san('-www-.example.com')],
  ['a common name', 'name', cn(text(0x0c, name))],
  ['a BMPString', 'name', cn(tlv(0x1e, utf16(name)))],
  ['a BMPString with a comma', 'odd name', cn(tlv(0x1e, utf16('www.example.com, Inc.')))],
  ['a UniversalString', 'name', cn(tlv(0x1c, utf32(name)))],
  ['a T61String', 'name', cn(tlv(0x14, Buffer.from(name)))],
  ['one byte per character in a BMPString', 'odd name', cn(tlv(0x1e, Buffer.from('www.example.com')))],
  ['a common name that is an OCTET STRING', 'name', cn(tlv(0x04, Buffer.from(name)))],
  ['a common name in a SEQUENCE', 'name', cn(seq(text(0x0c, name)))],
  ['a title with a name', 'odd name', cn(text(0x0c, 'Shop (www.example.com)'))],
  ['a second common name', 'name', forgeCertificate({ subject: seq(commonName('x'), commonName(name)) })],
  ['a mailbox without @', 'odd name', withNames(text(0x81, name))],
  ['a URI without a scheme', 'odd name', withNames(text(0x86, name))],
  ['an address that is a text', 'odd name', withNames(text(0x87, name))],
  ['a universal string type', 'odd name', withNames(text(0x16, name))],
  ['a name in pieces', 'odd name', withNames(tlv(0xa2, text(0x16, 'x'), text(0x16, name)))],
  [
    'an indefinite length',
    'name',
    forgeCertificate({ extensions: [extension(ids.subjectAlternativeName, endless(0x30, dns(name)))] }),
  ],
  ['alternative names as a SET', 'name', rawSan(set(dns(name)))],
  ['alternative names as a text', 'odd name', rawSan(text(0x16, name))],
  ['alternative names without a SEQUENCE', 'odd name', rawSan(dns(name))],
  ['a second SEQUENCE', 'odd name', rawSan(Buffer.concat([seq(dns('x.example')), seq(dns(name))]))],
  ['names that end after the extension', 'name', rawSan(Buffer.concat([hex('307f'), dns(name)]))],
  [
    'a name after one that is cut off',
    'name',
    rawSan(seq(Buffer.concat([hex('827f'), Buffer.from('x'), dns(name)]))),
  ],
  [
    'an extension without an OCTET STRING',
    'odd name',
    forgeCertificate({ extensions: [seq(tlv(6, ids.subjectAlternativeName), dns(name))] }),
  ],
  [
    'extensions with a wrong tag',
    'odd name',
    forgeCertificate({ wrapper: tlv(0xa4, seq(alternativeNames(dns(name)))) }),
  ],
  [
    'extensions after others',
    'name',
    forgeCertificate({ tail: tlv(0xa3, seq(alternativeNames(dns(name)))) }),
  ],
  [
    'a missing subject',
    'odd name',
    forgeCertificate({ subject: null, spki: null, extensions: null, tail: text(0x0c, name) }),
  ],
  ['no certificate', 'unreadable', octetString(seq(dns(name)))],
  ['a certificate that ends early', 'unreadable', Buffer.concat([hex('308210000482'), dns(name)])],
];

it.each(shapes)('%s is found as %s', (_what, how, der) => {
  expect(howFound(der)).toBe(how);
});

it.each([
  [
    'names, addresses and people',
    [dns(name), dns('*.example.org'), dns('192.0.2.1'), tlv(0x87, hex('7f000001'))],
  ],
  [
    'other kinds of names',
    [
      text(0x81, 'a@a.example'),
      text(0x86, 'https://u.example/'),
      tlv(0xa0, tlv(6, hex('2a03')), tlv(0xa0, text(0x0c, 'a.example'))),
    ],
  ],
  ['texts without a domain', [dns('localhost'), dns('Jane Doe'), dns('v1.2'), dns('')]],
  [
    'names with a port, a URL',
    [dns('www.example.com:443'), dns('http://www.example.com/'), dns('WWW.EXAMPLE.COM.')],
  ],
])('nothing is kept of %s', (_what, names) => {
  const subject = seq(commonName('Jane Doe'), commonName(name));
  expect(
    readIssued(forgeCertificate({ subject, extensions: [alternativeNames(...names)] }), 'certificate')
      .oddNames,
  ).toEqual([]);
});

it('of many odd texts the runs of labels are kept, once, and of long runs the end', () => {
  const texts = Array.from({ length: 30_000 }, (_, nth) =>
    dns(`${nth % 1_000}.example.org ,${'x'.repeat(nth % 7)} \0`),
  );
  const long = dns(`x ${'l.'.repeat(2_000)}example.net y`);
  const { oddNames } = readIssued(withNames(...texts, long, dns('last.example.com/')), 'certificate');
  expect(oddNames.length).toBeLessThan(1_200);
  for (let nth = 0; nth < 1_000; nth += 1)
    expect(
      oddNames.some((each) => each === `${nth}.example.org` || each.startsWith(`${nth}.example.org `)),
    ).toBe(true);
  expect(oddNames.every((each) => each.length <= 1_024 && !each.includes('\0'))).toBe(true);
  expect(oddNames.some((each) => each.endsWith('.l.example.net') && each.length === 256)).toBe(true);
});

const vector = (lengthBytes: number, content: Uint8Array) => {
  const length = Buffer.alloc(lengthBytes);
  length.writeUIntBE(content.length, 0, lengthBytes);
  return Buffer.concat([length, content]);
};

/** RFC 6962, section 3.4: version, leaf type, timestamp, type of the entry, certificate, extensions. */
const leafOf = (der: Buffer) => Buffer.concat([Buffer.alloc(12), vector(3, der), Buffer.alloc(2)]);

/** A log of RFC 6962 that never grows. */
function serve(leaves: readonly Buffer[], key: ReturnType<typeof keyPair>): Server {
  const tree = CompactTree.empty();
  for (const leaf of leaves) tree.append(leafHash(leaf));
  const head = { treeSize: leaves.length, timestamp: Date.now(), rootHash: tree.root() };
  const signature = sign('sha256', treeHeadSignatureInput(head), key.privateKey);
  const sth = {
    tree_size: head.treeSize,
    timestamp: head.timestamp,
    sha256_root_hash: head.rootHash.toString('base64'),
    tree_head_signature: Buffer.concat([Buffer.from([4, 3]), vector(2, signature)]).toString('base64'),
  };
  const entries = leaves.map((leaf) => ({ leaf_input: leaf.toString('base64'), extra_data: 'AAAA' }));
  return createServer(({ url = '' }, response) => {
    const { pathname, searchParams } = new URL(url, 'http://localhost');
    const [start, end] = ['start', 'end'].map((name) => Number(searchParams.get(name)));
    const isHead = pathname === '/ct/v1/get-sth';
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(isHead ? sth : { entries: entries.slice(start, (end ?? 0) + 1) }));
  });
}

/** It runs until it is killed. */
const timeoutMs = 50_000;

const keyPair = () => generateKeyPairSync('ec', { namedCurve: 'P-256' });

/**
 * Logs the certificates and runs certspotter until it has read all.
 *
 * @param watchlist in the form of certspotter, which is ours: with a leading dot for a tree
 * @returns indexes of the certificates for which it ran its script, ascending
 */
async function alertsOf(
  program: string,
  certificates: readonly Buffer[],
  watchlist: readonly string[],
): Promise<readonly number[]> {
  const folder = mkdtempSync(path.join(tmpdir(), 'certspotter-'));
  const file = (name: string) => path.join(folder, name);
  const key = keyPair();
  const leaves = certificates.map(leafOf);
  const server = serve(leaves, key);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const spki = key.publicKey.export({ type: 'spki', format: 'der' });
  const log = {
    key: spki.toString('base64'),
    log_id: createHash('sha256').update(spki).digest('base64'),
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    ...{ mmd: 86_400, description: 'Spec', state: { usable: { timestamp: '2026-01-01T00:00:00Z' } } },
  };
  writeFileSync(file('logs.json'), JSON.stringify({ operators: [{ name: 'Spec', email: [], logs: [log] }] }));
  writeFileSync(file('watchlist'), watchlist.join('\n'));
  writeFileSync(file('script'), `#!/bin/sh\necho "$ENTRY_INDEX" >> ${file('alerts')}\n`, { mode: 0o755 });
  const options = { state_dir: 'state', logs: 'logs.json', watchlist: 'watchlist', script: 'script' };
  const args = Object.entries(options).flatMap(([name, value]) => [`-${name}`, file(value)]);
  const child = spawn(program, ['-no_save', ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: timeoutMs,
    env: { HOME: folder, PATH: process.env['PATH'] },
  });
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => void (errors += chunk.toString()));
  const exited = once(child, 'exit');
  try {
    while (positionIn(file('state')) < certificates.length) {
      if (child.exitCode !== null || child.signalCode !== null)
        throw new Error(`certspotter ended: ${errors}`);
      await delay(50);
    }
    const indexes = readFileSync(file('alerts'), 'utf8').trim().split('\n').map(Number);
    return [...new Set(indexes)].sort((one, other) => one - other);
  } finally {
    child.kill();
    await exited;
    server.close();
    rmSync(folder, { recursive: true });
  }
}

/** How many entries it has read and reported. */
function positionIn(state: string): number {
  try {
    const [log = ''] = readdirSync(path.join(state, 'logs'));
    const text = readFileSync(path.join(state, 'logs', log, 'state.json'), 'utf8');
    return (JSON.parse(text) as { download_position: { size: number } }).download_position.size;
  } catch {
    return 0;
  }
}

const certspotter = ['/usr/bin/certspotter', '/usr/local/bin/certspotter'].find((file) => existsSync(file));

(certspotter === undefined ? it.skip : it)(
  'everything that certspotter finds in a log is found (skipped where it is not installed)',
  async () => {
    const all = [...shapes.map(([, , der]) => der), san('example.net')];
    const watchlist = ['.example.com', 'xn--bcher-kva.example.org'];
    const alerts = await alertsOf(certspotter ?? '', all, watchlist);
    const missed = alerts.filter((nth) => howFound(all[nth] ?? Buffer.alloc(0)) === 'not found');
    expect(missed.map((nth) => shapes[nth]?.[0] ?? 'another domain')).toEqual([]);
    expect(alerts.length).toBeGreaterThan(40);
  },
  60_000,
);
