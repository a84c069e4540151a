import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, renameSync } from 'node:fs';
import path from 'node:path';
import { eventually } from '@certwright/testing';
import { serverOf } from './testing/certificates';
import { aText, GatewayAtDesec, owner, record, shown } from './testing/gateway-at-desec';
import { RunningGateway } from './testing/running-gateway';

let world: GatewayAtDesec;
let gateway: RunningGateway;
let desec: GatewayAtDesec['desec'];

beforeAll(async () => {
  world = await GatewayAtDesec.start({ TLS_FILES_EVERY: '200ms' });
  ({ gateway, desec } = world);
}, 30_000);
afterAll(() => world.close());

it('limits requests per client: 429 with Retry-After', async () => {
  const limited = await RunningGateway.start({ CLIENT_RATE_PER_S: '1' });
  const answers = await Promise.all(Array.from({ length: 6 }, () => limited.post('get_zones', {})));
  const refused = answers.filter(({ status }) => status === 429);
  expect(refused.length).toBeGreaterThanOrEqual(1);
  expect(refused[0]).toMatchObject({ headers: { 'retry-after': aText }, body: { code: 'rate_limited' } });
  await limited.dispose();
}, 20_000);

it('the process logs the version of the registry and the head of the audit log', () => {
  expect(gateway.child.output()).toMatch(/"newest_source_date":"[\d-]+".*"msg":"underscored names"/);
  expect(gateway.child.output()).toMatch(/"sequence":1,"hash":"[0-9a-f]{64}".*"msg":"head of the audit log"/);
});

it('reports its readiness and the free share of the volume of the audit log', async () => {
  const operations = /"operations":"([^"]+)"/.exec(gateway.child.output())?.[1];
  const metrics = await (await fetch(`${operations}/metrics`)).text();
  expect(metrics).toContain('certwright_ready{process="dns-gateway"} 1\n');
  const [, ratio] = /^certwright_audit_volume_free_ratio\{.*\} (\S+)$/m.exec(metrics) ?? [];
  expect(Number(ratio)).toBeGreaterThan(0);
  expect(Number(ratio)).toBeLessThan(1);
});

// Linux only: the memory of another process is read through a file.
(process.platform === 'linux' ? it : it.skip)('its memory is that of a small process', () => {
  const status = readFileSync(`/proc/${gateway.child.pid}/status`, 'utf8');
  const rssMiB = Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
  expect(rssMiB).toBeLessThan(200);
});

it('certificates are renewed while it runs', async () => {
  gateway.writeTls(serverOf(gateway.authority), gateway.authority.pem);
  await gateway.child.says(/TLS certificates renewed/);
  expect(await gateway.request({ path: '/healthz' })).toMatchObject({ status: 200 });
});

it('a handle survives a restart and is re-sealed when its key is retiring', async () => {
  const integration = await world.integrated();
  const keys = path.join(gateway.authority.folder, 'handle.keys');
  expect(await gateway.child.stop()).toMatchObject({ code: 0 });
  gateway.authority.file(
    'handle.keys',
    `${randomBytes(32).toString('base64')}\n${readFileSync(keys, 'utf8')}`,
  );
  await gateway.begin();
  const response = await gateway.post('get_zones', integration);
  expect(shown(response)).toMatchObject({
    status: 200,
    integration: expect.stringMatching(/^cwi1\./) as string,
  });
  const again = await gateway.post('get_zones', {
    ...integration,
    integration: response.body['integration'],
  });
  expect(again.body).not.toHaveProperty('integration');
}, 20_000);

describe('a crash between the provider and our response', () => {
  const isChange = ({ method }: { readonly method: string }): boolean => method !== 'GET';

  it('of the connection leaves one record, which a repeated request finds and its handle removes', async () => {
    const integration = await world.integrated();
    const wanted = { ...integration, record: { ...record, fqdn: '_acme-challenge.cut.example.com' } };
    desec.server.misbehave('applied_then_cut', 99, isChange);
    expect(shown(await gateway.post('add_record', wanted))).toMatchObject({ code: 'provider_unavailable' });
    expect(gateway.audit().trimEnd().split('\n').at(-1)).toContain('"result":"unknown"');
    desec.server.misbehave('cut', 0);
    const { body } = await gateway.post('add_record', wanted);
    expect(world.values(wanted.record.fqdn)).toEqual([record.value]);
    const removal = { ...integration, record_handle: body['record_handle'] };
    expect(await gateway.post('remove_record', removal)).toMatchObject({ status: 200 });
    expect(world.values(wanted.record.fqdn)).toEqual([]);
  });

  it('of the process leaves an intent without outcome, and the next process accepts the repeated request', async () => {
    const integration = await world.integrated();
    const wanted = { ...integration, record: { ...record, fqdn: '_acme-challenge.killed.example.com' } };
    desec.server.misbehave('silent', 99, isChange);
    const lost = gateway.post('add_record', wanted).catch((error: Error) => error.message);
    await eventually(() => expect(gateway.audit()).toContain(wanted.record.fqdn));
    gateway.child.signal('SIGKILL');
    expect(await lost).toMatch(/hang up|ECONNRESET/);
    await gateway.child.ended;
    expect(gateway.audit().trimEnd().split('\n').at(-1)).toMatch(/"kind":"intent".*killed/);
    desec.server.misbehave('cut', 0);
    await gateway.begin();
    expect(await gateway.post('add_record', wanted)).toMatchObject({ status: 200 });
    expect(world.values(wanted.record.fqdn)).toEqual([record.value]);
  }, 20_000);

  it('of the process after the provider made the change leaves one record, which can be removed, even after restarts', async () => {
    const integration = await world.integrated();
    const wanted = { ...integration, record: { ...record, fqdn: '_acme-challenge.applied.example.com' } };
    desec.server.misbehave('applied_then_cut', 99, isChange);
    const lost = gateway.post('add_record', wanted).catch((error: Error) => error.message);
    await eventually(() => expect(world.values(wanted.record.fqdn)).toEqual([record.value]));
    gateway.child.signal('SIGKILL');
    await lost;
    await gateway.child.ended;
    desec.server.misbehave('cut', 0);
    await gateway.begin();
    // Each start begins another file of the audit log.
    for (let restarts = 0; restarts < 2; restarts += 1) {
      await gateway.child.stop();
      await gateway.begin();
    }
    const { body } = await gateway.post('add_record', wanted);
    expect(world.values(wanted.record.fqdn)).toEqual([record.value]);
    await gateway.post('remove_record', { ...integration, record_handle: body['record_handle'] });
    expect(world.values(wanted.record.fqdn)).toEqual([]);
  }, 30_000);
});

it('SIGTERM lets a request under way finish', async () => {
  const integration = await world.integrated();
  await gateway.post('get_zones', integration);
  desec.server.misbehave('silent', 99);
  const pending = gateway.post('add_record', {
    ...integration,
    record: { ...record, fqdn: '_acme-challenge.late.example.com' },
  });
  await eventually(() => expect(gateway.audit()).toContain('_acme-challenge.late.example.com'));
  gateway.child.signal('SIGTERM');
  expect(shown(await pending)).toMatchObject({ status: 504, code: 'timeout' });
  expect(await gateway.child.ended).toMatchObject({ code: 0 });
  expect(gateway.audit().trimEnd().split('\n').at(-1)).toContain('"result":"unknown"');
  desec.server.misbehave('cut', 0);
  await gateway.begin();
}, 20_000);

it('no log line, error or audit file contains a credential, even when the provider echoes it', async () => {
  const integration = await world.integrated();
  expect(await gateway.post('add_record', { ...integration, record })).toMatchObject({ status: 200 });
  const texts: string[] = [];
  for (const body of [
    { ...owner, credentials: { type: 'bearer', token: `${desec.token}\n` } },
    { ...owner, credentials: { type: 'bearer', token: desec.token, token2: desec.token } },
    { ...owner, credentials: desec.token },
    { ...owner, credentials: { type: desec.token } },
  ]) {
    texts.push(JSON.stringify((await gateway.post('make_integration', body)).body));
  }
  for (const [endpoint, rest] of [
    ['make_integration', { ...owner, credentials: world.credentials() }],
    ['get_zones', integration],
    ['add_record', { ...integration, record }],
  ] as const) {
    desec.server.misbehave('echo', 99);
    texts.push(JSON.stringify((await gateway.post(endpoint, rest)).body));
    desec.server.misbehave('cut', 0);
  }
  expect(texts.every((text) => text.includes('"code"'))).toBe(true);
  const everything = texts.join('\n') + gateway.output() + gateway.audit();
  expect(everything).toContain('"msg":"a change"');
  expect(everything).not.toContain(desec.token);
  expect(everything).not.toMatch(/cw[ir]1\.[\w-]{20}/);
}, 20_000);

it('changes nothing until a restart when the newest audit log file was removed', async () => {
  const integration = await world.integrated();
  const [newest = ''] = readdirSync(gateway.auditFolder)
    .filter((name) => name.endsWith('.jsonl'))
    .sort()
    .reverse();
  renameSync(path.join(gateway.auditFolder, newest), path.join(gateway.authority.folder, newest));
  const wanted = { ...integration, record: { ...record, fqdn: '_acme-challenge.unlogged.example.com' } };
  expect(shown(await gateway.post('add_record', wanted))).toMatchObject({
    status: 503,
    code: 'service_outage',
  });
  expect(world.values(wanted.record.fqdn)).toEqual([]);
  expect(await gateway.request({ path: '/readyz' })).toMatchObject({ status: 503, body: { ready: false } });
  renameSync(path.join(gateway.authority.folder, newest), path.join(gateway.auditFolder, newest));
  await gateway.child.stop();
  await gateway.begin();
  expect(await gateway.post('add_record', wanted)).toMatchObject({ status: 200 });
}, 20_000);
