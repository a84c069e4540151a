import { existsSync } from 'node:fs';
import path from 'node:path';
import { FakeServer } from '../testing/fake-server';
import { newJoinText, TestHost } from '../testing/test-host';
import { prune } from './cleaning';
import { once } from './run';

const order = 'www.example.com';
const dayMs = 86_400_000;

let server: FakeServer;
let host: TestHost;
beforeEach(async () => {
  server = await FakeServer.start();
  host = new TestHost(server);
  host.configure(`[[install]]\norder = "${order}"\n`);
  host.joinText = newJoinText(server);
  await host.enrol();
});
afterEach(async () => {
  jest.useRealTimers();
  await host.end();
  await server.stop();
});

const isInstalled = () => existsSync(path.join(host.state, 'orders', order, 'current/fullchain.pem'));
const pruned = async () => await prune(host.host, host.settings, host.log, host.output);
const onced = async () => await once(host.host, host.settings, host.log, host.output);

/** The clock of this host, but not that of the server. */
function setAhead(days: number): void {
  const now = Date.now() + days * dayMs;
  jest.useFakeTimers({
    now,
    advanceTimers: true,
    doNotFake: ['nextTick', 'performance', 'queueMicrotask', 'setImmediate', 'setInterval', 'setTimeout'],
  });
  server.clockOffsetMs -= days * dayMs;
}

/** An order that left the cluster, with a certificate for 90 days. */
async function release(): Promise<void> {
  const ordered = server.addOrder(order);
  await onced();
  server.release(ordered);
  await onced();
}

it('prune keeps a valid order that left the cluster when the clock of the host is months ahead', async () => {
  await release();
  setAhead(100);
  expect(await pruned()).toBe(0);
  expect(isInstalled()).toBe(true);
  server.clockOffsetMs += 100 * dayMs;
  expect(await pruned()).toBe(0);
  expect(isInstalled()).toBe(false);
});

it('prune needs no more of the server than its time', async () => {
  await release();
  server.members.clear();
  server.clockOffsetMs += 100 * dayMs;
  expect(await pruned()).toBe(0);
  expect(isInstalled()).toBe(false);
});

it.each([
  ['the server cannot be reached', () => void (server.isDown = true)],
  ['its response has no date', () => void (server.falsify = () => ({ headers: { date: 'today' } }))],
])('prune removes nothing when %s', async (_, disturb) => {
  await release();
  server.clockOffsetMs += 100 * dayMs;
  disturb();
  await expect(pruned()).rejects.toMatchObject({
    exitCode: 4,
    message: expect.stringContaining('nothing was removed'),
  });
  expect(isInstalled()).toBe(true);
});

it('once shows no valid certificate as expired when the clock of the host is months ahead', async () => {
  server.addOrder(order);
  expect(await onced()).toBe(0);
  setAhead(100);
  host.printed.length = 0;
  await onced();
  expect(host.printed.join('')).toMatch(/installed; certificate \w+; expires /);
  expect(host.printed.join('')).toContain('problem: the clock of this host is 100 days ahead of');
});
