import { LossyDisk } from '../testing/lossy-disk';
import { Certificates, SimulatedHost, state } from '../testing/simulated-host';
import { OrderStore } from '../state/order-store';
import { StoredKeys } from '../state/stored-keys';
import { pruneReleased, pruneReplaced } from './prune';

const now = new Date('2026-11-24T12:00:00Z');
const certificates = new Certificates(now);
const order = 'www.example.com';
const dayMs = 86_400_000;

async function newHost() {
  const host = new SimulatedHost(new LossyDisk([]), certificates, { points: [{ order }] }, now);
  const orders = new OrderStore(host.disk, state);
  const keys = new StoredKeys(host.disk, state);
  for (const label of ['first', 'second']) {
    host.want(order, label);
    await host.settle();
    const { key } = certificates.of(label);
    keys.add({
      spkiSha256: key.spkiSha256,
      order,
      createdAt: new Date(host.nowMs),
      pkcs8: key.pkcs8,
      csr: null,
    });
  }
  const prune = (ofCluster: readonly string[] | null = null) =>
    pruneReplaced(host.installer, orders, keys, new Date(host.nowMs), ofCluster && new Set(ofCluster));
  return { host, orders, keys, prune };
}

const keyOf = (label: string) => certificates.of(label).key.spkiSha256;

it('keeps them for seven days also when the clock of the host is weeks behind', async () => {
  const { host, orders, prune } = await newHost();
  host.clockErrorMs = -21 * dayMs;
  host.want(order, 'third');
  await host.settle();
  host.clockErrorMs = 0;
  prune();
  expect(orders.versions(order)).toHaveLength(3);
});

it('keeps a replaced version and its key for seven days', async () => {
  const { host, orders, keys, prune } = await newHost();
  host.nowMs += 7 * dayMs - 1000;
  expect(prune()).toBe(0);
  host.nowMs += 2000;
  expect(prune()).toBe(2);
  expect(orders.versions(order)).toEqual([host.sha256('second')]);
  expect(keys.all()).toEqual([keyOf('second')]);
});

it('never removes what servers read, also when it has expired', async () => {
  const { host, orders, keys, prune } = await newHost();
  host.nowMs += 400 * dayMs;
  prune();
  expect(orders.current(order)).toBe(host.sha256('second'));
  expect(orders.versions(order)).toEqual([host.sha256('second')]);
  expect(keys.all()).toEqual([keyOf('second')]);
});

it('keeps a new key whose certificate is not here yet', async () => {
  const { host, keys, prune } = await newHost();
  host.installer.journals.want(order, host.sha256('second'), {
    mayInstall: true,
    keysInUse: [keyOf('third')],
  });
  const { key } = certificates.of('third');
  keys.add({
    spkiSha256: key.spkiSha256,
    order,
    createdAt: new Date(host.nowMs),
    pkcs8: key.pkcs8,
    csr: null,
  });
  host.nowMs += 30 * dayMs;
  prune();
  expect(keys.all()).toContain(keyOf('third'));
});

it('removes the key of an order of which the host uses nothing when the cluster is known not to use it', async () => {
  const { host, keys, prune } = await newHost();
  const { key } = certificates.of('third');
  const createdAt = new Date(host.nowMs);
  keys.add({
    spkiSha256: key.spkiSha256,
    order: 'other.example.com',
    createdAt,
    pkcs8: key.pkcs8,
    csr: null,
  });
  host.nowMs += 30 * dayMs;
  for (const ofCluster of [null, [keyOf('third')]]) {
    prune(ofCluster);
    expect(keys.all()).toContain(keyOf('third'));
  }
  prune([]);
  expect(keys.all()).not.toContain(keyOf('third'));
});

it('removes an order that left the cluster only after its certificate has expired', async () => {
  const { host, orders } = await newHost();
  const pruned = () => pruneReleased(host.installer, orders, new Date(host.nowMs));
  host.nowMs += 100 * dayMs;
  expect(pruned()).toEqual([]);
  host.nowMs -= 100 * dayMs;
  host.installer.journals.release(order);
  expect(pruned()).toEqual([]);
  host.nowMs += 100 * dayMs;
  expect(pruned()).toEqual([order]);
  expect(host.disk.list(`${state}/orders`)).toEqual([]);
});
