import { execFileSync } from 'node:child_process';
import { createHash, X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import {
  CompactTree,
  entryLeafHash,
  type LogEntry,
  readCheckpoint,
  readDataTile,
  readEntriesResponse,
  readEntry,
  readIssued,
  readLeafJson,
  readLogKey,
  readLogList,
  readSignedTreeHead,
  tbsSha256,
  type TreeHead,
  verifyConsistency,
  verifyInclusion,
} from '@certwright/ct';
import { encodePem } from '@certwright/pki';
import { type LogResponse, RunningLog, type SctJson } from './testing/running-log';
import { SpecCa } from './testing/spec-ca';

const running = new RunningLog();
const rootsFile = path.join(running.folder, 'roots.pem');
let ca: SpecCa;

beforeAll(async () => {
  ca = await SpecCa.make();
  writeFileSync(rootsFile, encodePem('CERTIFICATE', ca.root));
  await running.start({ ACCEPTED_ROOTS: rootsFile, FIXTURES: '60' });
}, 30_000);
afterAll(async () => await running.remove());

const bases = { rfc6962: '/rfc6962/ct/v1/', static: '/static/ct/v1/' } as const;
type Base = keyof typeof bases;

async function listed(base: Base) {
  const list = readLogList(await running.json('/log_list.json'));
  const log = list?.logs.find(({ api }) => api === base);
  const key = readLogKey(log?.key ?? Buffer.alloc(0));
  if (log === undefined || key === null) throw new Error('the list has both logs with good keys');
  return { ...log, publicKey: key };
}

async function sth(): Promise<TreeHead> {
  const { publicKey } = await listed('rfc6962');
  const reading = readSignedTreeHead(await running.json('/rfc6962/ct/v1/get-sth'), publicKey);
  if (!reading.ok) throw new Error(reading.fault);
  return reading.head;
}

async function checkpoint(): Promise<TreeHead> {
  const { publicKey } = await listed('static');
  const { bytes } = await running.request('/static/checkpoint');
  const reading = readCheckpoint(bytes, `${running.url.slice('http://'.length)}/static`, publicKey);
  if (!reading.ok) throw new Error(reading.fault);
  return reading.head;
}

async function entries(start: number, end: number): Promise<LogEntry[]> {
  const response = await running.json(`/rfc6962/ct/v1/get-entries?start=${start}&end=${end}`);
  return (readEntriesResponse(response) ?? []).map((reading) => {
    if (!reading.ok) throw new Error(reading.fault);
    return reading.entry;
  });
}

async function dataTile(width: number): Promise<readonly LogEntry[]> {
  const { bytes } = await running.request(`/static/tile/data/000.p/${width}`);
  const reading = readDataTile(bytes, { index: 0, width });
  if (!reading.ok) throw new Error(reading.fault);
  return reading.entries;
}

function rootOf(leaves: readonly LogEntry[]): Buffer {
  const tree = CompactTree.empty();
  for (const entry of leaves) tree.append(entryLeafHash(entry));
  return tree.root();
}

/** Verified by an independent implementation, over bytes that the spec assembles. */
function opensslVerifies(keyDer: Buffer, signed: Buffer, digitallySigned: Buffer): boolean {
  const folder = mkdtempSync(path.join(tmpdir(), 'demo-log-openssl-'));
  const file = (name: string, content: string | Buffer) => {
    writeFileSync(path.join(folder, name), content);
    return path.join(folder, name);
  };
  try {
    const key = file('key.pem', encodePem('PUBLIC KEY', keyDer));
    const signature = file('signature', digitallySigned.subarray(4));
    const arguments_ = ['dgst', '-sha256', '-verify', key, '-signature', signature, file('signed', signed)];
    return execFileSync('openssl', arguments_, { encoding: 'utf8' }).startsWith('Verified OK');
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const uint = (value: number, bytes: number) =>
  Buffer.from(value.toString(16).padStart(bytes * 2, '0'), 'hex');
const base64 = (text: string) => Buffer.from(text, 'base64');

/** What an SCT of a certificate signs (RFC 6962, section 3.2). */
function signedOf(der: Buffer, { timestamp, extensions }: SctJson): Buffer {
  const extra = base64(extensions);
  const parts = [
    uint(0, 2),
    uint(timestamp, 8),
    uint(0, 2),
    uint(der.length, 3),
    der,
    uint(extra.length, 2),
    extra,
  ];
  return Buffer.concat(parts);
}

describe('both logs', () => {
  it.each(['rfc6962', 'static'] as const)('promise with a signature that openssl takes: %s', async (base) => {
    const chain = ca.chain(`sct.${base}.example.com`);
    const sct = await running.sct(`${bases[base]}add-chain`, chain);
    const { key, logId } = await listed(base);
    expect(sct).toMatchObject({ sct_version: 0, id: logId.toString('base64') });
    expect(createHash('sha256').update(key).digest()).toEqual(logId);
    expect(opensslVerifies(key, signedOf(chain[0] as Buffer, sct), base64(sct.signature))).toBe(true);
  });

  it.each(['rfc6962', 'static'] as const)(
    'give the same promise for the same submission, at once, later, and with another chain: %s',
    async (base) => {
      const chain = ca.chain(`again.${base}.example.com`);
      const submit = async (some: readonly Buffer[]) => await running.sct(`${bases[base]}add-chain`, some);
      const [first, ...others] = await Promise.all([submit(chain), submit(chain), submit(chain.slice(0, 2))]);
      const size = async () => (base === 'rfc6962' ? await sth() : await checkpoint()).treeSize;
      const before = await size();
      others.push(await submit(chain));
      for (const other of others) expect(other).toEqual(first);
      expect(await size()).toBe(before);
    },
  );

  it('recognize a repeated precertificate by its TBSCertificate', async () => {
    const [precertificate, ...above] = ca.precertificateChain('pre.example.com') as [Buffer, ...Buffer[]];
    const first = await running.sct('/rfc6962/ct/v1/add-pre-chain', [precertificate, ...above]);
    // ECDSA signs differently each time: another precertificate of the same issuance.
    const serial = BigInt(`0x${new X509Certificate(precertificate).serialNumber}`);
    const second = ca.precertificateChain('pre.example.com', 'e1', serial);
    expect(second[0]).not.toEqual(precertificate);
    expect(await running.sct('/rfc6962/ct/v1/add-pre-chain', second)).toEqual(first);
  });

  it('are in a log list that ct-ingest reads, with their URLs', async () => {
    expect(await listed('rfc6962')).toMatchObject({
      url: `${running.url}/rfc6962/`,
      state: 'usable',
      mmd: 60,
    });
    const urls = { submissionUrl: `${running.url}/static/`, monitoringUrl: `${running.url}/static/` };
    expect(await listed('static')).toMatchObject({ ...urls, state: 'usable', mmd: 60 });
  });
});

describe('the log with the API of RFC 6962', () => {
  it('signs heads that openssl verifies, with the root of its entries', async () => {
    const head = await sth();
    const { key } = await listed('rfc6962');
    const { tree_head_signature: signature } = await running.json<{ tree_head_signature: string }>(
      '/rfc6962/ct/v1/get-sth',
    );
    const signed = Buffer.concat([
      uint(1, 2),
      uint(head.timestamp, 8),
      uint(head.treeSize, 8),
      head.rootHash,
    ]);
    expect(opensslVerifies(key, signed, base64(signature))).toBe(true);
    const all = await entries(0, head.treeSize + 1_000);
    expect(all).toHaveLength(head.treeSize);
    expect(rootOf(all)).toEqual(head.rootHash);
  });

  it('returns an entry with its chain and a proof', async () => {
    const chain = ca.chain('proof.example.com');
    await running.sct('/rfc6962/ct/v1/add-chain', chain.slice(0, 2));
    const { treeSize, rootHash } = await sth();
    const index = treeSize - 1;
    const target = `/rfc6962/ct/v1/get-entry-and-proof?leaf_index=${index}&tree_size=${treeSize}`;
    const response = await running.json<{ audit_path: string[] }>(target);
    const reading = readLeafJson(response);
    if (!reading.ok || reading.entry.type !== 'certificate') throw new Error('it is a certificate');
    expect(reading.entry.certificateDer).toEqual(chain[0]);
    // The root was left out by who submitted.
    const above = Buffer.concat(chain.slice(1).map((der) => Buffer.concat([uint(der.length, 3), der])));
    expect(reading.entry.chain.bytes).toEqual(above);
    const leafHash = entryLeafHash(reading.entry);
    const path = response.audit_path.map(base64);
    expect(verifyInclusion({ leafHash, index, treeSize, path }, rootHash)).toBe(true);
    const hash = encodeURIComponent(leafHash.toString('base64'));
    const byHash = await running.json(`/rfc6962/ct/v1/get-proof-by-hash?hash=${hash}&tree_size=${treeSize}`);
    expect(byHash).toEqual({ leaf_index: index, audit_path: response.audit_path });
  });

  it('proves that a head extends another one', async () => {
    const older = await sth();
    await running.sct('/rfc6962/ct/v1/add-chain', ca.chain('later.example.com'));
    const newer = await sth();
    expect(newer.treeSize).toBe(older.treeSize + 1);
    const target = `/rfc6962/ct/v1/get-sth-consistency?first=${older.treeSize}&second=${newer.treeSize}`;
    const { consistency } = await running.json<{ consistency: string[] }>(target);
    const [from, to] = [older, newer].map(({ treeSize: size, rootHash: root }) => ({ size, root }));
    expect(from && to && verifyConsistency(from, to, consistency.map(base64))).toBe(true);
  });

  it('signs a newer head after half a minute, of the same entries', async () => {
    const older = await sth();
    expect(await sth()).toEqual(older);
    running.clockMs += 31_000;
    const newer = await sth();
    expect(newer).toEqual({ ...older, timestamp: expect.any(Number) as number });
    expect(newer.timestamp - older.timestamp).toBeGreaterThanOrEqual(30_000);
  });

  it('returns pages of at most 256 entries, compressed for clients that accept that', async () => {
    const chains = Array.from({ length: 257 }, (_, nth) => ca.chain(`page-${nth}.example.org`));
    await Promise.all(chains.map(async (chain) => await running.sct('/rfc6962/ct/v1/add-chain', chain)));
    const { treeSize } = await sth();
    expect(treeSize).toBeGreaterThan(257);
    expect(await entries(1, 100_000)).toHaveLength(256);
    const page = await running.request('/rfc6962/ct/v1/get-entries?start=0&end=5', {
      headers: { 'accept-encoding': 'gzip' },
    });
    expect(page.headers.get('content-encoding')).toBe('gzip');
  });
});

describe('the static log', () => {
  it('has a checkpoint with the root of its data tiles and hash tiles, of every width', async () => {
    const { treeSize, rootHash } = await checkpoint();
    const all = await dataTile(treeSize);
    expect(rootOf(all)).toEqual(rootHash);
    const { bytes: hashes } = await running.request(`/static/tile/0/000.p/${treeSize}`);
    expect(hashes).toEqual(Buffer.concat(all.map(entryLeafHash)));
    const few = await dataTile(5);
    expect(few.map(entryLeafHash)).toEqual(all.slice(0, 5).map(entryLeafHash));
    expect((await running.request('/static/tile/0/000.p/5')).bytes).toEqual(hashes.subarray(0, 5 * 32));
    expect((await running.request(`/static/tile/data/000.p/${treeSize + 1}`)).status).toBe(404);
  });

  it('returns the leaf index in the SCT, and the entry has that index', async () => {
    const chain = ca.chain('place.example.com');
    const { extensions } = await running.sct('/static/ct/v1/add-chain', chain);
    const { treeSize } = await checkpoint();
    expect(base64(extensions)).toEqual(Buffer.concat([uint(0, 1), uint(5, 2), uint(treeSize - 1, 5)]));
    const last = (await dataTile(treeSize)).at(-1);
    expect(last).toMatchObject({ leafIndex: treeSize - 1, certificateDer: chain[0] });
  });

  it('serves every certificate of a chain by its fingerprint', async () => {
    const chain = ca.chain('issuer.example.com');
    await running.sct('/static/ct/v1/add-chain', chain.slice(0, 2));
    const { treeSize } = await checkpoint();
    const fingerprints = chain.slice(1).map((der) => createHash('sha256').update(der).digest());
    expect((await dataTile(treeSize)).at(-1)?.chain.bytes).toEqual(Buffer.concat(fingerprints));
    for (const [nth, fingerprint] of fingerprints.entries()) {
      const response = await running.request(`/static/issuer/${fingerprint.toString('hex')}`);
      expect([response.headers.get('content-type'), response.bytes]).toEqual([
        'application/pkix-cert',
        chain[nth + 1],
      ]);
    }
  });

  it.each([
    ['/static/tile/0/x000/000'],
    ['/static/tile/0/000.p/256'],
    ['/static/tile/0/000.p/0'],
    ['/static/tile/0/000.p/01'],
    ['/static/tile/0/000'],
    ['/static/tile/1/000.p/1'],
    ['/static/tile/6/000.p/1'],
    ['/static/tile/data/x999/x999/x999/x999/999'],
    ['/static/tile/data/../checkpoint'],
    ['/static/tile/entries/000.p/1'],
    [`/static/issuer/${'0'.repeat(64)}`],
    [`/static/issuer/${'A'.repeat(64)}`],
    ['/static/'],
    ['/rfc6962/checkpoint'],
    ['/static/ct/v1/get-sth'],
    ['/__proto__'],
    ['/constructor'],
  ])('has nothing at %s', async (target) => {
    expect(await running.request(target)).toMatchObject({ status: 404 });
  });
});

function tbsOf(entry: LogEntry): string {
  return tbsSha256(readEntry(entry));
}

describe('a precertificate', () => {
  it.each(['e1', 'precertificates'] as const)(
    'is logged as its certificate will be, signed by %s',
    async (signer) => {
      const [precertificate, ...above] = ca.precertificateChain(`${signer}.example.com`, signer) as [
        Buffer,
        ...Buffer[],
      ];
      const sct = await running.sct('/rfc6962/ct/v1/add-pre-chain', [precertificate, ...above]);
      const serial = BigInt(`0x${new X509Certificate(precertificate).serialNumber}`);
      const [certificate] = ca.signedBy(ca.ca.e1, `${signer}.example.com`, [], serial);
      const last = (await sth()).treeSize - 1;
      const [entry] = await entries(last, last);
      if (entry?.type !== 'precertificate' || certificate === undefined)
        throw new Error('it is a precertificate');
      expect(tbsOf(entry)).toBe(tbsSha256(readIssued(certificate, 'certificate')));
      expect(entry).toMatchObject({ precertificateDer: precertificate, timestamp: sct.timestamp });
      const issuerKey = createHash('sha256').update(ca.ca.e1.spki).digest();
      expect(entry.issuerKeyHash).toEqual(issuerKey);
    },
  );
});

async function refusal(response: Promise<LogResponse>): Promise<[number, string]> {
  const { status, bytes } = await response;
  return [status, (JSON.parse(bytes.toString('utf8')) as { error_message: string }).error_message];
}

describe('a submission is refused', () => {
  const submit = async (call: string, chain: readonly Buffer[]) =>
    await refusal(running.submit(`/static/ct/v1/${call}`, chain));

  it('with the reason, and nothing is added', async () => {
    const before = await checkpoint();
    const [leaf, issuer, root] = ca.chain('refused.example.com') as [Buffer, Buffer, Buffer];
    const stranger = (await SpecCa.make()).chain('stranger.example.com');
    const cut = leaf.subarray(0, leaf.length - 1);
    const longer = Buffer.concat([leaf, Buffer.of(0)]);
    const forged = Buffer.from(leaf);
    forged.writeUInt8(forged.readUInt8(forged.length - 1) ^ 1, forged.length - 1);
    const [poisoned, ...above] = ca.precertificateChain('pre.example.org') as [Buffer, ...Buffer[]];
    const mild = ca.signedBy(ca.ca.e1, 'mild.example.org', [
      // Not critical.
      Buffer.from('3010060a2b06010401d67902040304020500', 'hex'),
    ]);
    // OpenSSL also reads certificates as text, and past their end.
    const text = Buffer.from(encodePem('CERTIFICATE', issuer));
    const padded = Buffer.concat([issuer, Buffer.alloc(1_000)]);
    expect(
      await Promise.all([
        submit('add-chain', [leaf, text, root]),
        submit('add-chain', [leaf, padded, root]),
        submit('add-pre-chain', [poisoned, text, root]),
        submit('add-pre-chain', [poisoned, issuer, padded]),
        submit('add-chain', stranger),
        submit('add-chain', [leaf, root]),
        submit('add-chain', [forged, issuer, root]),
        submit('add-chain', [cut, issuer, root]),
        submit('add-chain', [longer, issuer, root]),
        submit('add-chain', [leaf, issuer, root, leaf]),
        submit('add-chain', ca.chainBelowLeaf('below.example.com')),
        submit('add-chain', [poisoned, ...above]),
        submit('add-pre-chain', [leaf, issuer, root]),
        submit('add-pre-chain', mild),
      ]),
    ).toEqual([
      [400, 'Certificate 2 of the chain is not in DER.'],
      [400, 'Certificate 2 of the chain is not in DER.'],
      [400, 'Certificate 2 of the chain is not in DER.'],
      [400, 'Certificate 3 of the chain is not in DER.'],
      [400, 'The chain does not end at an accepted root; see get-roots.'],
      [400, 'Certificate 2 of the chain has not signed certificate 1.'],
      [400, 'Certificate 2 of the chain has not signed certificate 1.'],
      [400, 'Certificate 1 of the chain cannot be parsed.'],
      [400, 'Certificate 1 of the chain is not in DER.'],
      [400, 'Certificate 4 of the chain has not signed certificate 3.'],
      [400, 'Certificate 2 of the chain has not signed certificate 1.'],
      [400, 'This is a precertificate: submit it with add-pre-chain.'],
      [400, 'A precertificate must have a critical poison extension that contains NULL.'],
      [400, 'A precertificate must have a critical poison extension that contains NULL.'],
    ]);
    expect((await checkpoint()).treeSize).toBe(before.treeSize);
  });

  it.each([
    ['', 'The body must be a JSON object with the member chain.'],
    ['null', 'The body must be a JSON object with the member chain.'],
    ['[]', 'chain must be an array of certificates in base64.'],
    ['{"__proto__":{"chain":["AA=="]}}', 'chain must be an array of certificates in base64.'],
    ['{"chain":{"length":1}}', 'chain must be an array of certificates in base64.'],
    ['{"chain":[]}', 'chain must have 1 to 10 certificates.'],
    [`{"chain":[${Array(11).fill('"AA=="').join()}]}`, 'chain must have 1 to 10 certificates.'],
    ['{"chain":["\\u0000"]}', 'Certificate 1 of the chain is not base64, or is too long.'],
    ['{"chain":["\\ud800"]}', 'Certificate 1 of the chain is not base64, or is too long.'],
    ['{"chain":["AA==",[]]}', 'Certificate 2 of the chain is not base64, or is too long.'],
    ['{"chain":["AA"]}', 'Certificate 1 of the chain is not base64, or is too long.'],
    ['{"chain":["AA=="]}', 'Certificate 1 of the chain cannot be parsed.'],
  ])('whose body is %j', async (body, message) => {
    const target = '/rfc6962/ct/v1/add-chain';
    expect(await refusal(running.request(target, { method: 'POST', body }))).toEqual([400, message]);
  });

  it('with a body larger than any chain', async () => {
    const body = `{"chain":["${'A'.repeat(4 * 2 ** 20)}"]}`;
    const response = running.request('/static/ct/v1/add-pre-chain', { method: 'POST', body });
    expect(await refusal(response)).toEqual([413, 'The body has more than 4194304 bytes.']);
  });
});

describe('a question is refused', () => {
  it.each([
    ['get-entries?start=0', 'The parameter end is missing.'],
    ['get-entries?start=0&start=0&end=1', 'The parameter start is given more than once.'],
    ['get-entries?start=-1&end=1', 'start must be a whole number.'],
    ['get-entries?start=1e3&end=1', 'start must be a whole number.'],
    ['get-entries?start=2&end=1', 'start must not be greater than end.'],
    ['get-entries?start=99999&end=99999', /^start must be less than the tree size, \d+\.$/],
    ['get-sth-consistency?first=2&second=1', 'first must not be greater than second.'],
    ['get-sth-consistency?first=1&second=99999', /^second must not be greater than the tree size, \d+\.$/],
    ['get-entry-and-proof?leaf_index=1&tree_size=1', 'leaf_index must be less than tree_size.'],
    ['get-entry-and-proof?leaf_index=0&tree_size=0', /^tree_size must be from 1 to the tree size/],
    ['get-proof-by-hash?hash=AA==&tree_size=1', /^hash must be a SHA-256 in base64/],
    ['get-proof-by-hash?hash=%00&tree_size=1', /^hash must be a SHA-256 in base64/],
  ])('%s', async (question, message) => {
    const [status, reason] = await refusal(running.request(`/rfc6962/ct/v1/${question}`));
    expect(status).toBe(400);
    if (typeof message === 'string') expect(reason).toBe(message);
    else expect(reason).toMatch(message);
  });

  it('with a method that the path does not support', async () => {
    const response = await running.request('/rfc6962/ct/v1/add-chain');
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST']);
    expect((await running.request('/static/checkpoint', { method: 'DELETE' })).status).toBe(405);
    expect((await running.request('/healthz', { method: 'HEAD' })).status).toBe(200);
  });

  it('for a leaf that is in no tree', async () => {
    const hash = encodeURIComponent(Buffer.alloc(32).toString('base64'));
    const response = running.request(`/rfc6962/ct/v1/get-proof-by-hash?hash=${hash}&tree_size=1`);
    expect(await refusal(response)).toEqual([404, 'No entry in a tree of this size has this leaf hash.']);
  });
});
