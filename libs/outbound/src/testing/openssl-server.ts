import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { startChild } from '@certwright/testing';
import type { Certified, CertificateTree } from './certificate-tree';

export interface OpensslServer {
  readonly port: number;
  stop(): Promise<unknown>;
}

/**
 * `openssl s_server`: presents any certificates in any order, unlike a web server.
 *
 * @param chain what is sent after the leaf
 */
export async function opensslServer(
  tree: CertificateTree,
  leaf: Certified,
  chain: readonly Certified[],
  ...options: readonly string[]
): Promise<OpensslServer> {
  const chainFile = path.join(tree.folder, `chain-${performance.now()}.pem`);
  writeFileSync(chainFile, chain.map(({ certificateFile }) => readFileSync(certificateFile)).join(''));
  const identity = ['-key', leaf.keyFile, '-cert', leaf.certificateFile];
  const behind = chain.length === 0 ? [] : ['-cert_chain', chainFile];
  // Without a chain it builds one from its own roots; `-www` keeps it from reading standard input.
  const args = [
    's_server',
    '-accept',
    '127.0.0.1:0',
    '-no-CAfile',
    '-no-CApath',
    '-www',
    ...identity,
    ...behind,
  ];
  const child = await startChild('openssl', { args: [...args, ...options] });
  await child.says(/ACCEPT 127\.0\.0\.1:\d+/, 20_000);
  const port = Number(/ACCEPT 127\.0\.0\.1:(\d+)/.exec(child.output())?.[1]);
  return { port, stop: async () => await child.stop() };
}
