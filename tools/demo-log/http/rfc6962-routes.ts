import { consistencyRanges, inclusionRanges } from '@certwright/ct';
import type { CtLog } from '../log/ct-log';
import { headJson } from '../log/published-head';
import { merkleTreeLeaf, type StoredEntry } from '../log/stored-entry';
import { vector } from '../log/tls';
import { type Call, json, RequestFault, type Routes } from './response';
import { hashOf, numberOf } from './parameters';

/** Maximum number of entries in a response to get-entries. */
const maxEntries = 256;

const fingerprintBytes = 32;

/** Read API of RFC 6962 (sections 4.3 to 4.6, 4.8). Returns only entries that are in a head. */
export function rfc6962Routes(log: CtLog): Readonly<Record<string, Routes>> {
  return {
    'ct/v1/get-sth': { GET: async () => json(headJson(await log.head())) },
    'ct/v1/get-sth-consistency': { GET: async ({ query }) => await consistency(log, query) },
    'ct/v1/get-proof-by-hash': { GET: async ({ query }) => await proofByHash(log, query) },
    'ct/v1/get-entries': { GET: async ({ query }) => await entries(log, query) },
    'ct/v1/get-entry-and-proof': { GET: async ({ query }) => await entryAndProof(log, query) },
  };
}

type Query = Call['query'];

async function consistency(log: CtLog, query: Query) {
  const [first, second] = [numberOf(query, 'first'), numberOf(query, 'second')];
  const { treeSize } = await log.head();
  if (first > second) throw new RequestFault(400, 'first must not be greater than second.');
  if (second > treeSize)
    throw new RequestFault(400, `second must not be greater than the tree size, ${treeSize}.`);
  return json({ consistency: texts(log.tree.hashesOf(consistencyRanges(first, second), second)) });
}

async function proofByHash(log: CtLog, query: Query) {
  const hash = hashOf(query, 'hash');
  const treeSize = await treeSizeOf(log, query);
  const index = log.indexOfLeaf(hash);
  if (index === undefined || index >= treeSize)
    throw new RequestFault(404, 'No entry in a tree of this size has this leaf hash.');
  const path = log.tree.hashesOf(inclusionRanges(index, treeSize), treeSize);
  return json({ leaf_index: index, audit_path: texts(path) });
}

async function entries(log: CtLog, query: Query) {
  const [start, end] = [numberOf(query, 'start'), numberOf(query, 'end')];
  const { treeSize } = await log.head();
  if (start > end) throw new RequestFault(400, 'start must not be greater than end.');
  if (start >= treeSize) throw new RequestFault(400, `start must be less than the tree size, ${treeSize}.`);
  const stored = await log.entries(start, Math.min(end + 1, treeSize, start + maxEntries));
  return { ...json({ entries: stored.map((entry) => entryJson(log, entry)) }), compressible: true };
}

async function entryAndProof(log: CtLog, query: Query) {
  const index = numberOf(query, 'leaf_index');
  const treeSize = await treeSizeOf(log, query);
  if (index >= treeSize) throw new RequestFault(400, 'leaf_index must be less than tree_size.');
  const path = log.tree.hashesOf(inclusionRanges(index, treeSize), treeSize);
  return json({ ...entryJson(log, await log.entry(index)), audit_path: texts(path) });
}

async function treeSizeOf(log: CtLog, query: Query): Promise<number> {
  const size = numberOf(query, 'tree_size');
  const { treeSize } = await log.head();
  if (size === 0 || size > treeSize)
    throw new RequestFault(400, `tree_size must be from 1 to the tree size, ${treeSize}.`);
  return size;
}

function entryJson(log: CtLog, entry: StoredEntry) {
  const { precertificateDer } = entry;
  const chain = vector(3, ...chainOf(log, entry).map((der) => vector(3, der)));
  // PrecertChainEntry, or the certificate_chain of an X509ChainEntry (RFC 6962, section 4.6).
  const extra = precertificateDer === null ? chain : Buffer.concat([vector(3, precertificateDer), chain]);
  return { leaf_input: merkleTreeLeaf(entry).toString('base64'), extra_data: extra.toString('base64') };
}

function chainOf(log: CtLog, { fingerprints }: StoredEntry): Buffer[] {
  const chain: Buffer[] = [];
  for (let at = 0; at < fingerprints.length; at += fingerprintBytes) {
    const fingerprint = fingerprints.toString('hex', at, at + fingerprintBytes);
    const der = log.issuer(fingerprint);
    if (der === undefined) throw new Error(`the certificate ${fingerprint} of a chain is missing`);
    chain.push(der);
  }
  return chain;
}

const texts = (hashes: readonly Buffer[]) => hashes.map((hash) => hash.toString('base64'));
