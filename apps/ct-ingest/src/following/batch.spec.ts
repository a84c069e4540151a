import { CompactTree, leafHash, readLeaf } from '@certwright/ct';
import type { FetchedEntry } from '../log-api/log-api';
import { everything } from '../reading/indexed-scope';
import { Issuers } from '../reading/issuers';
import { RecentIssuances } from '../reading/recent-issuances';
import { forgePair } from '../testing/forged-entries';
import { belowLongIssuer } from '../testing/forged-tree';
import { Batch } from './batch';

function fetched(nth: number, issuer: number): FetchedEntry {
  const { leaf, extraData } = belowLongIssuer(forgePair(nth).certificate, 1_000_000, issuer);
  const reading = readLeaf(leaf, extraData);
  if (!reading.ok) throw new Error(reading.fault);
  return { kind: 'read', leafHash: leafHash(leaf), entry: reading.entry };
}

/** How many entries it takes; 20 are enough. */
async function taken(issuerOf: (nth: number) => number): Promise<number> {
  const recent = new RecentIssuances(100);
  const reading = { issuers: new Issuers(), recent, scope: everything, now: Date.now };
  const batch = new Batch(CompactTree.empty(), reading, () => Promise.resolve(null));
  let count = 0;
  for (; count < 20 && !batch.isFull; count += 1) await batch.add(fetched(count, issuerOf(count)));
  return count;
}

it("a batch is as long as its certificates, with each of their issuers' once", async () => {
  expect(await taken((nth) => nth)).toBe(4);
  expect(await taken(() => 1)).toBe(20);
});
