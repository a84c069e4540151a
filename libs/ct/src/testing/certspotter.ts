import { spawn } from 'node:child_process';
import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { treeHeadSignatureInput } from '../heads/tree-head';
import { CompactTree } from '../merkle/compact-tree';
import { leafHash } from '../merkle/hashes';

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
export async function alertsOf(
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
