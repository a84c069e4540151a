import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type Child, eventually, startChild } from '@certwright/testing';
import { ManagedServer } from '../second-agent/managed-server';

const workspaceRoot = path.join(__dirname, '../..');
const folder = path.join(process.env['CERTWRIGHT_TEST_RUN'] ?? '', 'managed-order-agent');
const program = path.join(folder, 'main.js');
const withinMs = 30_000;

interface Installation {
  readonly host: string;
  readonly state: string;
  readonly certificate_sha256: string | null;
}

let server: ManagedServer;
const children: Child[] = [];

/** A host with the agent's program, as a process of its own. */
async function startHost(
  name: string,
  joinText: string,
  orders: readonly string[],
): Promise<{ child: Child; state: string }> {
  const home = mkdtempSync(path.join(tmpdir(), 'managed-order-'));
  const state = path.join(home, 'state');
  const configuration = path.join(home, 'agent.toml');
  const installs = orders.map((order) => `[[install]]\norder = "${order}"\n`).join('');
  writeFileSync(
    configuration,
    `server = "${server.api.url}"\nnames = ["*.example.com"]\nstate = "${state}"\n${installs}`,
  );
  const run = async (command: string, env: Readonly<Record<string, string>>, ...args: readonly string[]) =>
    await startChild(process.execPath, { args: [program, command, '--config', configuration, ...args], env });
  const enrolment = await run('enrol', { CERTWRIGHT_JOIN: joinText }, '--name', name);
  expect((await enrolment.ended).code).toBe(0);
  const child = await run('run', {});
  children.push(child);
  return { child, state };
}

const installations = async (order: string): Promise<readonly Installation[]> =>
  (await server.order(order, '?expand=installations'))['installations'] as Installation[];

const isInstalledOn = async (order: string, sha256: string, hosts: readonly string[]) =>
  await eventually(
    async () => {
      const found = (await installations(order)).map(({ host, state, certificate_sha256: certificate }) => [
        host,
        state,
        certificate,
      ]);
      expect(found.sort()).toEqual(hosts.map((host) => [host, 'installed', sha256]));
    },
    { withinMs },
  );

beforeAll(async () => {
  mkdirSync(folder, { recursive: true });
  const bundling = `import('./tools/build/bundle.mjs').then(({ bundle }) => bundle({ main: 'apps/agent/src/main.ts' }, '${path.relative(workspaceRoot, folder)}'))`;
  execFileSync(process.execPath, ['-e', bundling], { cwd: workspaceRoot, stdio: 'inherit' });
  server = await ManagedServer.start();
}, 60_000);
afterEach(async () => {
  for (const child of children.splice(0)) await child.stop();
});
afterAll(async () => await server.stop());

const create = async (name: string, cluster: string) =>
  await server.must(201, 'POST', '/orders', {
    dns_names: [name],
    cluster,
    product: 'free_ca',
    key_type: 'ecdsa',
  });

it('hosts of a cluster share each key, a late host gets it, and a removed one gets no more', async () => {
  const order = 'www.example.com';
  const joinText = await server.cluster('web');
  await startHost('one', await joinText(), [order]);
  const two = await startHost('two', await joinText(), [order]);
  // It uses nothing of the order: the roll-out does not wait for it.
  await startHost('idle', await joinText(), []);
  await create(order, 'web');
  const first = await server.issueWhenRequested(order);
  await isInstalledOn(order, first, ['one', 'two']);

  await startHost('late', await joinText(), [order]);
  await isInstalledOn(order, first, ['late', 'one', 'two']);

  await server.must(200, 'POST', '/clusters/web/rekey', { now: true });
  const second = await server.issueWhenRequested(order);
  await isInstalledOn(order, second, ['late', 'one', 'two']);

  const agents = (await server.tenant.call('GET', '/api/v3/clusters/web/agents', {})).json as unknown as {
    id: string;
    name: string;
  }[];
  await server.must(204, 'DELETE', `/clusters/web/agents/${agents.find(({ name }) => name === 'two')?.id}`);
  await two.child.says(/the server refuses this agent/, withinMs);
  await server.must(200, 'POST', '/clusters/web/rekey', { now: true });
  const third = await server.issueWhenRequested(order);
  await eventually(
    async () => {
      const served = (await installations(order)).filter(
        ({ certificate_sha256: certificate }) => certificate === third,
      );
      expect(served.map(({ host }) => host).sort()).toEqual(['late', 'one']);
    },
    { withinMs },
  );
  // What it has stays.
  expect(readFileSync(path.join(two.state, 'orders', order, 'current/privkey.pem'), 'utf8')).toContain(
    'PRIVATE KEY',
  );
}, 180_000);

it('an order that leaves the cluster keeps its files, and the agent goes on', async () => {
  const [left, kept] = ['left.example.com', 'kept.example.com'];
  const joinText = await server.cluster('db');
  const host = await startHost('one', await joinText(), [left, kept]);
  for (const order of [left, kept]) await create(order, 'db');
  const first = await server.issueWhenRequested(left);
  await isInstalledOn(left, first, ['one']);
  await server.must(200, 'POST', `/orders/${left}`, { cluster: null });
  await host.child.says(/installation released; order=left\.example\.com/, withinMs);
  expect(readFileSync(path.join(host.state, 'orders', left, 'current/fullchain.pem'), 'utf8')).toContain(
    'CERTIFICATE',
  );
  const second = await server.issueWhenRequested(kept);
  await isInstalledOn(kept, second, ['one']);
  expect(host.child.output()).not.toContain('report failed');
}, 120_000);
