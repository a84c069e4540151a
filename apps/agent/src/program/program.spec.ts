import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type Child, eventually, startChild } from '@certwright/testing';
import { FakeServer } from '../testing/fake-server';
import { newJoinText, newSeed, TestHost } from '../testing/test-host';

const workspaceRoot = path.join(__dirname, '../../../..');
const folder = path.join(process.env['CERTWRIGHT_TEST_RUN'] ?? '', 'agent-program');
const program = path.join(folder, 'main.js');

let server: FakeServer;
let host: TestHost;
const children: Child[] = [];

beforeAll(() => {
  mkdirSync(folder, { recursive: true });
  const outdir = path.relative(workspaceRoot, folder);
  const bundling = `import('./tools/build/bundle.mjs').then(({ bundle }) => bundle({ main: 'apps/agent/src/main.ts' }, '${outdir}'))`;
  execFileSync(process.execPath, ['-e', bundling], { cwd: workspaceRoot, stdio: 'inherit' });
}, 60_000);
beforeEach(async () => {
  server = await FakeServer.start({ isSecure: true });
  host = new TestHost(server);
});
afterEach(async () => {
  for (const child of children.splice(0)) await child.stop();
  await host.end();
  await server.stop();
});

async function start(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>> = {},
): Promise<Child> {
  const child = await startChild(process.execPath, {
    args: [program, ...args, '--config', host.configuration],
    env: { CERTWRIGHT_JOIN: undefined, ...env },
  });
  children.push(child);
  return child;
}

async function run(args: readonly string[], env?: Readonly<Record<string, string>>) {
  const child = await start(args, env);
  const { code } = await child.ended;
  return { code, output: child.output() };
}

const join = async () => await run(['enrol'], { CERTWRIGHT_JOIN: newJoinText(server, { seed: newSeed() }) });

describe('exit codes', () => {
  it('0: enrolled, and enrolled again', async () => {
    const first = await join();
    expect(first).toMatchObject({ code: 0, output: expect.stringContaining('enrolled as agent ') });
    const again = await run(['enrol', '--json'], { CERTWRIGHT_JOIN: newJoinText(server) });
    expect(again.code).toBe(0);
    expect(JSON.parse(again.output)).toMatchObject({ already_enrolled: true, cluster: 'web' });
    expect((await run(['check'])).output).toBe('no problem found\n');
  });

  it('1: another agent uses the state', async () => {
    await join();
    const running = await start(['run']);
    await running.says(/agent started/);
    const second = await run(['once']);
    expect(second).toMatchObject({
      code: 1,
      output: expect.stringMatching(/another agent \(process \d+\) uses/),
    });
    running.signal('SIGKILL');
    await running.ended;
    expect((await run(['once'])).code).toBe(0);
  });

  it('2: usage and configuration, with file and line', async () => {
    expect((await run(['fly'])).code).toBe(2);
    expect((await run(['enrol', 'cwj1.secret'])).code).toBe(2);
    expect(await run(['enrol'])).toMatchObject({
      code: 2,
      output: expect.stringContaining('no join string; pass --join-file <file>'),
    });
    host.configure('moed = "0640"\n');
    expect(await run(['status'])).toEqual({
      code: 2,
      output: `certwright-agent: ${host.configuration}:5: moed: is not known here; remove it, or use one of: ca_file, install, keys, names, proxy, server, service, state\n`,
    });
  });

  it('2: a configuration is found by its relative path, and its folder is checked', async () => {
    const relative = async () => {
      const args = [program, 'status', '--config', 'agent.toml'];
      const child = await startChild(process.execPath, { args, cwd: host.folder });
      return { code: (await child.ended).code, output: child.output() };
    };
    expect((await relative()).code).toBe(3);
    chmodSync(host.folder, 0o777);
    expect(await relative()).toMatchObject({
      code: 2,
      output: expect.stringContaining(`other users may write to the folder ${host.folder}`),
    });
  });

  it('3: not enrolled, an unknown token, removed', async () => {
    expect((await run(['run'])).code).toBe(3);
    expect((await run(['status'])).code).toBe(3);
    const text = newJoinText(server);
    server.tokens.clear();
    const refused = await run(['enrol'], { CERTWRIGHT_JOIN: text });
    expect(refused.code).toBe(3);
    expect(refused.output).not.toContain(text.slice(5, 20));
    await join();
    server.members.clear();
    expect(await run(['once'])).toMatchObject({
      code: 3,
      output: expect.stringContaining('the server refuses this host'),
    });
  });

  it('4: the server cannot be reached', async () => {
    await join();
    server.isDown = true;
    expect((await run(['once'])).code).toBe(4);
    expect((await run(['check'])).code).toBe(4);
  });
});

it('uninstall removes identity and keys, and keeps the files that servers read', async () => {
  host.configure('[[install]]\norder = "www.example.com"\n');
  await join();
  server.addOrder('www.example.com');
  expect((await run(['once'])).code).toBe(0);
  const shown = await run(['status', '--json']);
  expect(shown.code).toBe(0);
  expect(JSON.parse(shown.output)).toMatchObject({
    enrolled: true,
    installations: [{ order: 'www.example.com', point: 'folder', state: 'installed', problem: null }],
  });
  expect((await run(['uninstall'])).code).toBe(2);
  expect((await run(['uninstall', '--yes'])).code).toBe(0);
  expect(readdirSync(host.state).sort()).toEqual(['orders']);
  expect(readFileSync(path.join(host.state, 'orders/www.example.com/current/privkey.pem'), 'utf8')).toContain(
    'PRIVATE KEY',
  );
  expect((await run(['run'])).code).toBe(3);
});

it.each([
  ['empty', (file: string) => writeFileSync(file, '')],
  [
    'a folder',
    (file: string) => {
      rmSync(file);
      mkdirSync(file);
    },
  ],
])('a damaged journal (%s) is reported once, and set aside', async (_, damage) => {
  host.configure('[[install]]\norder = "www.example.com"\n');
  await join();
  server.addOrder('www.example.com');
  expect((await run(['once'])).code).toBe(0);
  const journal = path.join(host.state, 'orders/www.example.com/journal.json');
  damage(journal);
  const shown = await run(['status', '--json']);
  expect(shown.code).toBe(1);
  expect(JSON.parse(shown.output)).toMatchObject({
    problem: expect.stringMatching(/journal\.json .*; the agent sets it aside at its next start$/),
  });
  expect(await run(['once'])).toMatchObject({
    code: 1,
    output: expect.stringContaining(`; the agent set it aside as ${journal}.damaged and`),
  });
  expect((await run(['once'])).code).toBe(0);
  expect((await run(['status'])).code).toBe(0);
});

it('a join string is read from a file', async () => {
  const file = path.join(host.folder, 'join');
  writeFileSync(file, `${newJoinText(server)}\n`);
  expect((await run(['enrol', '--join-file', file])).code).toBe(0);
});

it('commands of the host get the environment without the join string and the memory settings of the unit', async () => {
  const unit = readFileSync(
    path.join(workspaceRoot, 'tools/agent-package/debian/certwright-agent.service'),
    'utf8',
  );
  const [, settings = ''] = /^Environment=(.*)$/m.exec(unit) ?? [];
  const ofUnit = Object.fromEntries(settings.split(' ').map((setting) => setting.split('=')));
  expect(Object.keys(ofUnit)).toHaveLength(2);
  const seen = path.join(host.folder, 'environment');
  host.configure(`[service.web]
test = ["sh", "-c", "env > ${seen}"]
reload = ["true"]
[[install]]
order = "www.example.com"
service = "web"
`);
  await join();
  server.addOrder('www.example.com');
  expect((await run(['once'], { ...ofUnit, CERTWRIGHT_JOIN: 'secret', OF_OPERATOR: 'kept' })).code).toBe(0);
  const environment = readFileSync(seen, 'utf8');
  expect(environment).toContain('OF_OPERATOR=kept');
  for (const name of ['CERTWRIGHT_JOIN', ...Object.keys(ofUnit)])
    expect(environment).not.toContain(`${name}=`);
});

it('runs under kill -9 at random moments, and servers always find a pair', async () => {
  const combined = path.join(host.folder, 'files/www.pem');
  host.configure(`[service.web]
test = ["true"]
reload = ["true"]
[[install]]
order = "www.example.com"
service = "web"
[[install]]
order = "www.example.com"
format = "combined"
path = "${combined}"
`);
  await join();
  const order = server.addOrder('www.example.com');
  let child = await start(['run']);
  await eventually(() => expect(server.lastReport(order.name, combined)?.state).toBe('installed'));
  const current = path.join(host.state, 'orders/www.example.com/current');
  for (let round = 0; round < 6; round++) {
    const before = order.issued?.sha256;
    server.ask(order);
    const endMs = Date.now() + 15 * (round + 1);
    while (Date.now() < endMs) {
      // One folder, opened once: a reader through the link could get one file of each version.
      execFileSync('openssl', ['x509', '-noout', '-in', path.join(current, 'cert.pem')]);
    }
    child.signal('SIGKILL');
    await child.ended;
    for (const [certificate, key] of [
      [path.join(current, 'cert.pem'), path.join(current, 'privkey.pem')],
      [combined, combined],
    ] as const)
      expect(publicKeyOf('x509', certificate)).toBe(publicKeyOf('pkey', key));
    child = await start(['run']);
    await eventually(() => {
      expect(order.issued?.sha256).not.toBe(before);
      expect(server.lastReport(order.name, combined)?.certificate_sha256).toBe(order.issued?.sha256);
    });
  }
}, 120_000);

const publicKeyOf = (kind: 'x509' | 'pkey', file: string): string =>
  execFileSync(
    'openssl',
    kind === 'x509' ? ['x509', '-noout', '-pubkey', '-in', file] : ['pkey', '-pubout', '-in', file],
    { encoding: 'utf8' },
  );

it('with 50 orders, needs at most 90 MB resident, 30 MB anonymous, and 2 s of CPU for an hour of polls', async () => {
  const names = Array.from({ length: 50 }, (_, index) => `h${index}.example.com`);
  host.configure(names.map((name) => `[[install]]\norder = "${name}"\n`).join(''));
  await join();
  for (const name of names) server.addOrder(name);
  const child = await start(['run']);
  await eventually(
    () => expect(names.map((name) => server.lastReport(name)?.state)).toEqual(names.map(() => 'installed')),
    {
      withinMs: 60_000,
    },
  );
  const cpuS = () => {
    const fields = readFileSync(`/proc/${child.pid}/stat`, 'latin1').split(') ')[1]?.split(' ') ?? [];
    // USER_HZ is 100 on every Linux that Node.js runs on (proc(5), fields 14 and 15).
    return (Number(fields[11]) + Number(fields[12])) / 100;
  };
  const before = cpuS();
  const polls = () => server.requests.filter(({ path: call }) => call.endsWith('/state')).length;
  const begin = polls();
  while (polls() < begin + 72) {
    const last = polls();
    // A 204 before its time would make it rest.
    server.changeNothingSeen();
    await eventually(() => expect(polls()).toBeGreaterThan(last));
  }
  expect(cpuS() - before).toBeLessThan(2);
  const status = readFileSync(`/proc/${child.pid}/status`, 'latin1');
  const kib = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]);
  expect(kib('VmRSS')).toBeLessThan(90_000);
  expect(kib('RssAnon')).toBeLessThan(30_000);
}, 120_000);
