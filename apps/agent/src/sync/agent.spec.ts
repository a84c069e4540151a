import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto';
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { eventually } from '@certwright/testing';
import { FakeServer } from '../testing/fake-server';
import { newJoinText, newSeed, TestHost } from '../testing/test-host';

let server: FakeServer;
beforeEach(async () => void (server = await FakeServer.start({ isSecure: true })));
const hosts: TestHost[] = [];
const newHost = (name?: string) => {
  const host = new TestHost(server, name);
  hosts.push(host);
  return host;
};
afterEach(async () => {
  for (const host of hosts.splice(0)) await host.end();
  await server.stop();
});

function installed(host: TestHost, order: string) {
  const current = path.join(host.state, 'orders', order, 'current');
  const certificate = new X509Certificate(readFileSync(path.join(current, 'fullchain.pem')));
  const key = createPrivateKey(readFileSync(path.join(current, 'privkey.pem')));
  const isPair = certificate.checkPrivateKey(key);
  return {
    certificate,
    key,
    isPair,
    spki: createPublicKey(key as never).export({ format: 'der', type: 'spki' }),
  };
}

it('makes a key, sends its CSR, and installs the certificate', async () => {
  const host = newHost();
  const combined = path.join(host.folder, 'files/www.pem');
  host.configure(`
[[install]]
order = "www.example.com"

[[install]]
order = "www.example.com"
format = "combined"
path = "${combined}"
`);
  host.joinText = newJoinText(server);
  expect(await host.enrol()).toBe(0);
  const order = server.addOrder('www.example.com');
  host.start(host.agent());
  await eventually(() => expect(server.lastReport(order.name, 'folder')?.state).toBe('installed'));
  const { certificate, isPair } = installed(host, order.name);
  expect(certificate.fingerprint256.replaceAll(':', '').toLowerCase()).toBe(order.issued?.sha256);
  expect(isPair).toBe(true);
  await eventually(() => expect(server.lastReport(order.name, combined)?.state).toBe('installed'));
  expect(existsSync(combined)).toBe(true);
  const first = order.issued?.sha256;
  server.ask(order);
  await eventually(() => expect(server.lastReport(order.name, combined)?.certificate_sha256).not.toBe(first));
  expect(installed(host, order.name).isPair).toBe(true);
});

it('does not install an earlier version again when its state was restored from a backup', async () => {
  const host = newHost();
  const combined = path.join(host.folder, 'files/www.pem');
  host.configure(`[[install]]\norder = "www.example.com"\nformat = "combined"\npath = "${combined}"\n`);
  host.joinText = newJoinText(server);
  await host.enrol();
  const order = server.addOrder('www.example.com');
  await host.agent().once();
  const [orders, backup] = [path.join(host.state, 'orders'), path.join(host.folder, 'backup')];
  cpSync(orders, backup, { recursive: true, verbatimSymlinks: true });
  server.ask(order);
  await host.agent().once();
  const newer = readFileSync(combined, 'utf8');
  rmSync(orders, { recursive: true });
  cpSync(backup, orders, { recursive: true, verbatimSymlinks: true });
  server.reports.length = 0;
  host.start(host.agent());
  await eventually(() =>
    expect(server.lastReport(order.name)?.certificate_sha256).toBe(order.issued?.sha256),
  );
  expect(host.logged.join('\n')).not.toContain('installing it again');
  expect(readFileSync(combined, 'utf8')).toBe(newer);
});

/** A host that installs a certificate of the returned order. */
async function enrolled() {
  const host = newHost();
  host.configure('[[install]]\norder = "www.example.com"\n');
  host.joinText = newJoinText(server);
  await host.enrol();
  const order = server.addOrder('www.example.com');
  return { host, order };
}

it.each([
  ['a version', ''],
  ['its key', 'privkey.pem'],
])('fetches %s again that another program removed', async (_, file) => {
  const { host, order } = await enrolled();
  await host.agent().once();
  const versions = path.join(host.state, 'orders', order.name, 'versions');
  rmSync(path.join(versions, order.issued?.sha256 ?? '', file), { recursive: true });
  await host.agent().once();
  expect(installed(host, order.name).isPair).toBe(true);
});

it('each inspection notices that a version was removed, and has it fetched again', async () => {
  const { host, order } = await enrolled();
  await host.agent().once();
  const agent = host.agent();
  const inspect = agent.installer.inspect.bind(agent.installer);
  // The one at the start, after everything that is missing was fetched.
  const inspected = jest.spyOn(agent.installer, 'inspect').mockImplementationOnce(async () => {
    rmSync(path.join(host.state, 'orders', order.name, 'versions'), { recursive: true });
    await inspect();
  });
  host.start(agent);
  await eventually(() => expect(inspected).toHaveBeenCalled());
  await eventually(() => {
    server.changeNothingSeen();
    expect(installed(host, order.name).isPair).toBe(true);
  });
  expect(host.logged.join('\n')).toContain('installing it again');
});

it('starts with files of other programs in its state', async () => {
  const { host, order } = await enrolled();
  await host.agent().once();
  writeFileSync(path.join(host.state, 'orders/README'), 'of an operator');
  server.ask(order);
  await host.agent().once();
  expect(server.lastReport(order.name)?.certificate_sha256).toBe(order.issued?.sha256);
});

it('shares the key with the other member, sealed for it', async () => {
  const seed = newSeed();
  const members = ['host-1', 'host-2'].map((name) => newHost(name));
  for (const host of members) {
    host.configure('[[install]]\norder = "www.example.com"\n');
    host.joinText = newJoinText(server, { seed });
    await host.enrol();
  }
  const order = server.addOrder('www.example.com', { keyType: 'rsa' });
  for (const host of members) host.start(host.agent());
  await eventually(() => {
    for (const host of members) expect(installed(host, order.name).isPair).toBe(true);
  });
  const [one, two] = members.map((host) => installed(host, order.name));
  expect(one?.spki.equals(two?.spki ?? Buffer.of())).toBe(true);
  const sent = server.requests.map(({ body }) => body).join('\n');
  const pkcs8 = one?.key.export({ format: 'der', type: 'pkcs8' }) ?? Buffer.of();
  for (const encoding of ['base64', 'hex', 'base64url'] as const)
    expect(sent.includes(pkcs8.toString(encoding).slice(100, 200))).toBe(false);
});

it('a host that uses nothing of an order seals its key for a late member, too', async () => {
  const seed = newSeed();
  const order = 'www.example.com';
  const [maker, idle, late] = ['maker', 'idle', 'late'].map((name) => newHost(name));
  if (maker === undefined || idle === undefined || late === undefined) throw new Error('no hosts');
  maker.configure(`[[install]]\norder = "${order}"\n`);
  late.configure(`[[install]]\norder = "${order}"\n`);
  for (const host of [maker, idle]) {
    host.joinText = newJoinText(server, { seed });
    await host.enrol();
  }
  const ordered = server.addOrder(order);
  await maker.agent().once();
  late.joinText = newJoinText(server, { seed });
  await late.enrol();
  await late.agent().once();
  expect(server.lastReport(order)?.state).toBe('no_key');
  const member = [...server.members.values()].find(({ name }) => name === 'late');
  ordered.sealFor = { spki_sha256: ordered.issued?.spkiSha256 ?? '', members: [member?.agent_id ?? ''] };
  server.touch(ordered);
  await idle.agent().once();
  await late.agent().once();
  expect(installed(late, order).isPair).toBe(true);
});

it('keeps the key that it made for an order of which it uses nothing', async () => {
  const host = newHost();
  host.joinText = newJoinText(server);
  await host.enrol();
  const order = server.addOrder('www.example.com');
  await host.agent().once();
  const file = path.join(host.state, 'keys', `${order.issued?.spkiSha256}.json`);
  const key = JSON.parse(readFileSync(file, 'utf8')) as object;
  writeFileSync(file, JSON.stringify({ ...key, created: '2026-01-01T00:00:00.000Z' }));
  server.requests.length = 0;
  host.start(host.agent());
  await eventually(() => expect(server.requests.length).toBeGreaterThan(1));
  expect(existsSync(file)).toBe(true);
});

it('two copies of one machine do not end the waits of each other all the time, and say so', async () => {
  const [original, copy] = [newHost(), newHost()];
  original.joinText = newJoinText(server);
  await original.enrol();
  copy.configure('');
  cpSync(original.state, copy.state, { recursive: true });
  rmSync(path.join(copy.state, 'lock'), { force: true });
  for (const host of [original, copy]) host.start(host.agent());
  await eventually(
    () => expect(server.reports.at(-1)?.agent.problem).toContain('another process uses the identity'),
    { withinMs: 80_000 },
  );
  expect(server.requests.filter(({ path: each }) => each.endsWith('/state')).length).toBeLessThan(30);
}, 100_000);

it('goes on with the server after it was unreachable', async () => {
  const host = newHost();
  host.configure('[[install]]\norder = "www.example.com"\n');
  host.joinText = newJoinText(server);
  await host.enrol();
  server.isDown = true;
  host.start(host.agent());
  await eventually(() => expect(host.logged.join('\n')).toContain('synchronization failed'));
  const order = server.addOrder('www.example.com');
  server.isDown = false;
  await eventually(() => expect(server.lastReport(order.name)?.state).toBe('installed'));
});
