import { setImmediate } from 'node:timers/promises';
import { CompactTree, indexKeys, leafHash, readLeaf } from '@certwright/ct';
import type { FetchedEntry } from '../log-api/log-api';
import { everything } from '../reading/indexed-scope';
import { Issuers } from '../reading/issuers';
import { RecentIssuances } from '../reading/recent-issuances';
import { forgePair } from '../testing/forged-entries';
import { belowLongIssuer, served, type ServedEntry } from '../testing/forged-tree';
import { Batch } from './batch';

const fetched = (nth: number, issuer: number): FetchedEntry =>
  fetchedEntry(belowLongIssuer(forgePair(nth).certificate, 1_000_000, issuer));

function fetchedEntry({ leaf, extraData }: ServedEntry): FetchedEntry {
  const reading = readLeaf(leaf, extraData);
  if (!reading.ok) throw new Error(reading.fault);
  return { kind: 'read', leafHash: leafHash(leaf), entry: reading.entry };
}

function emptyBatch(): Batch {
  const recent = new RecentIssuances(100);
  const reading = { issuers: new Issuers(), recent, scope: everything, now: Date.now };
  return new Batch(CompactTree.empty(), reading, () => Promise.resolve(null));
}

/** Number of entries that a batch accepts; 20 are enough. */
async function taken(issuerOf: (nth: number) => number): Promise<number> {
  const batch = emptyBatch();
  let count = 0;
  for (; count < 20 && !batch.isFull; count += 1) await batch.add(fetched(count, issuerOf(count)));
  return count;
}

it('counts the bytes of its certificates, and of each issuer once', async () => {
  expect(await taken((nth) => nth)).toBe(4);
  expect(await taken(() => 1)).toBe(20);
});

it('yields to other work while it indexes a certificate with thousands of names', async () => {
  const names = Array.from({ length: 5_000 }, (_, nth) => `a.b.n${nth}.example.com`);
  const entry = fetchedEntry(served(forgePair(0, { names }).certificate, 0, false));
  const batch = emptyBatch();
  let turns = 0;
  let isDone = false;
  const others = (async () => {
    for (; !isDone; turns += 1) await setImmediate();
  })();
  await batch.add(entry);
  isDone = true;
  await others;
  expect(turns).toBeGreaterThan(10);
  const [issuance] = batch.ingested().issuances;
  expect(issuance?.dnsNames).toEqual(names);
  expect([...(issuance?.nameKeys ?? [])].sort()).toEqual(indexKeys(names).sort());
});
