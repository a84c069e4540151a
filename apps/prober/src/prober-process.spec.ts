import { execFileSync } from 'node:child_process';
import path from 'node:path';
import type { WebRuleAnswer } from '@certwright/jobs';
import { ProbeQuestions } from '@certwright/redis';
import { RedisAccess, redisSettingsOf } from '@certwright/redis-client';
import {
  type Child,
  eventually,
  freePort,
  type RedisServer,
  startChild,
  startRedisCluster,
  startRedisServer,
} from '@certwright/testing';
import { serveLoopbackNames } from './testing/loopback-names';
import { redirectsTo, says, serveSite, type WebSite } from './testing/web-site';

const workspaceRoot = path.join(__dirname, '../../..');
const log = { warn: () => undefined, info: () => undefined };
const silence = { kind: 'failed', problem: 'the prober did not answer', hops: [] };

let redisPort: number;
let redis: RedisServer | undefined;
let site: WebSite;
let probes: ProbeQuestions;
let environment: Record<string, string>;
const undo: (() => unknown)[] = [];

beforeAll(async () => {
  execFileSync(process.execPath, ['tools/build/build.mjs', 'apps/prober'], { cwd: workspaceRoot });
  redisPort = await freePort();
  const names = await serveLoopbackNames();
  undo.push(() => names.close());
  site = await serveSite({
    '/rule': says('rule'),
    '/moved': redirectsTo('/rule'),
    '/hang': () => undefined,
  });
  undo.push(() => site.close());
  const redisUrl = `redis://127.0.0.1:${redisPort}`;
  environment = {
    REDIS_URL: redisUrl,
    DNS_RESOLVERS: `${names.address.host}:${names.address.port}`,
    ALLOWED_NETWORKS: '127.0.0.0/8',
    HTTP_PORT: String(site.port),
    PROBE_CONCURRENCY: '20',
    DRAIN_TIME: '1s',
  };
  probes = new ProbeQuestions(new RedisAccess(redisSettingsOf(redisUrl)), { name: 'spec', log });
}, 60_000);
afterEach(() => site.requests.splice(0));
afterAll(async () => {
  for (const step of undo.reverse()) await step();
}, 30_000);

async function startRedis(): Promise<void> {
  redis = await startRedisServer(redisPort);
}
async function startProber(opsPort: number | string = 0, env: Record<string, string> = {}): Promise<Child> {
  const args = ['--enable-source-maps', path.join(workspaceRoot, 'dist/apps/prober/main.js')];
  const child = await startChild(process.execPath, {
    args,
    env: { ...environment, ...env, OPS_PORT: String(opsPort) },
  });
  await child.says(/"started"/, 20_000);
  return child;
}
const probe = (at: string, withinMs?: number): Promise<WebRuleAnswer> =>
  probes.ask({ dnsName: 'www.example.com', path: at }, withinMs);
const readiness = async (port: number): Promise<number> =>
  (await fetch(`http://127.0.0.1:${port}/readyz`)).status;

describe('the prober as a process', () => {
  // Before the hook of `startChild`, which ends Redis: a client that is closed without Redis keeps a timer for 2 s.
  afterAll(() => probes.close());

  it('starts while Redis is unavailable, is not ready then, and responds once Redis is up', async () => {
    const ops = await freePort();
    const prober = await startProber(ops);
    expect(await readiness(ops)).toBe(503);
    expect(await probe('/rule', 200)).toEqual(silence);
    await startRedis();
    await eventually(async () => expect(await readiness(ops)).toBe(200), { withinMs: 10_000 });
    await eventually(async () =>
      expect(await probe('/rule', 500)).toMatchObject({ kind: 'answered', body: 'rule' }),
    );
    expect((await prober.stop()).code).toBe(0);
  }, 60_000);

  it('survives that Redis is killed and comes back with nothing in it', async () => {
    const prober = await startProber();
    expect(await probe('/rule')).toMatchObject({ kind: 'answered' });
    await redis?.kill();
    expect(await probe('/rule', 200)).toEqual(silence);
    await startRedis();
    await eventually(async () => expect(await probe('/rule', 500)).toMatchObject({ kind: 'answered' }), {
      withinMs: 10_000,
    });
    expect((await prober.stop()).code).toBe(0);
    expect(prober.output()).not.toMatch(/unhandledRejection|uncaughtException/);
  }, 60_000);

  it('answers a hundred questions at once, each by one copy alone', async () => {
    const copies = await Promise.all([startProber(), startProber()]);
    const results = await Promise.all(Array.from({ length: 100 }, (_, at) => probe(`/moved?${at}`)));
    expect(results.filter(({ kind }) => kind === 'answered')).toHaveLength(100);
    const first = site.requests.filter((request) => request.includes('/moved'));
    expect(first).toHaveLength(100);
    expect(new Set(first).size).toBe(100);
    for (const copy of copies) await copy.stop();
  }, 60_000);

  it('looks at TLS as well as at web server rules', async () => {
    const prober = await startProber();
    const question = {
      hosts: ['www.example.com', '10.0.0.1'].map((host) => ({ host, ports: [site.port] })),
      serverName: 'www.example.com',
      withHttpStatus: false,
    };
    const seen = (host: string, address: string, reason: string, problem: string) => ({
      host,
      lookUp: { kind: 'found' },
      addresses: [{ address, port: site.port, result: { kind: 'not_presented', reason, problem } }],
      omitted: 0,
    });
    const notTls = `127.0.0.1 port ${site.port} answers with something that is not TLS.`;
    const hosts = [
      seen('www.example.com', '127.0.0.1', 'handshake', notTls),
      seen('10.0.0.1', '10.0.0.1', 'refused_address', 'This is not a public address.'),
    ];
    await eventually(
      async () => expect(await probes.askLook(question)).toEqual({ hosts, certificates: [] }),
      { withinMs: 20_000 },
    );
    await prober.stop();
  }, 60_000);

  it('that is killed in the middle of a question lets the client time out', async () => {
    const prober = await startProber();
    const pending = probe('/hang', 5_000);
    await eventually(() => expect(site.requests).toHaveLength(1));
    prober.signal('SIGKILL');
    await prober.ended;
    expect(await pending).toEqual(silence);
    const next = await startProber();
    expect(await probe('/rule')).toMatchObject({ kind: 'answered' });
    await next.stop();
    expect(site.requests).toHaveLength(2);
  }, 60_000);

  it('stops within its time though a question is under way', async () => {
    const prober = await startProber();
    const pending = probe('/hang', 5_000);
    await eventually(() => expect(site.requests).toHaveLength(1));
    const outcomes: unknown[] = [];
    const stopped = prober.stop(20_000).then(({ code }) => outcomes.push(code));
    const ended = pending.then((result) => outcomes.push(result));
    await Promise.all([stopped, ended]);
    expect(outcomes).toEqual([0, silence]);
  }, 60_000);
});

describe('the prober on a Cluster without replicas', () => {
  it('is ready while all slots are served, and logs one change when a master is lost', async () => {
    const cluster = await startRedisCluster({ hasReplicas: false });
    const ops = await freePort();
    const prober = await startProber(ops, cluster.environment);
    await eventually(async () => expect(await readiness(ops)).toBe(200));
    const onCluster = new ProbeQuestions(
      new RedisAccess(redisSettingsOf(cluster.environment['REDIS_URL'] ?? '')),
      {
        name: 'spec',
        log,
      },
    );
    await eventually(async () =>
      expect(await onCluster.ask({ dnsName: 'www.example.com', path: '/rule' }, 1_000)).toMatchObject({
        body: 'rule',
      }),
    );
    const quiet = prober.output().length;
    await (await cluster.masterOf('certwright:{probes}:questions')).kill();
    await eventually(async () => expect(await readiness(ops)).toBe(503));
    for (let asked = 0; asked < 20; asked += 1) expect(await readiness(ops)).toBe(503);
    const lines = prober.output().slice(quiet).trim().split('\n');
    expect(lines).toEqual([expect.stringContaining('readiness check failed')]);
    await onCluster.close();
    expect((await prober.stop()).code).toBe(0);
    await cluster.dispose();
  }, 60_000);
});
