// Several agents as separate processes, with orders-v3, issuance worker, PostgreSQL, Redis and DNS as in the benchmark.
import { missingForHosts } from './hosts.mjs';
import { measureManaged } from './managed.mjs';

/** Shown as skipped where nginx is missing, or without root; tools/test/peers.sh installs it. */
const given = missingForHosts() === null ? it : it.skip;

given(
  'orders of clusters are served by each host, renewed with a new key each, and no server is reloaded twice in 10 s',
  async () => {
    const size = { clusters: 2, hosts: 3, orders: 5, keyType: 'ecdsa' };
    const result = await measureManaged(size, () => undefined);
    expect(result).toMatchObject({
      orders: 5,
      installations: 15,
      // As visitors see it, at every host.
      wrong: 0,
      // One for the order and one for the renewal, each with its own key, which is sealed for the two other hosts.
      certificates: 10,
      keys: 10,
      sealed: 20,
    });
    expect(result.minGapMs ?? 10_000).toBeGreaterThanOrEqual(9_900);
    expect(result.renewal.seconds).toBeLessThan(300);
  },
  600_000,
);
