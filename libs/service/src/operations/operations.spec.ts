import { Gauge } from 'prom-client';
import { logReadiness } from '../lifecycle/run-process';
import { createLogger } from '../logging/logger';
import { Metrics } from './metrics';
import { type OperationsServer, startOperationsServer } from './operations-server';
import { Readiness } from './readiness';

describe('the operations server', () => {
  const metrics = new Metrics('spec');
  const readiness = new Readiness({ reuseMs: 0, boundMs: 30 });
  let isDatabaseDown = false;
  let server: OperationsServer;
  beforeAll(async () => {
    server = await startOperationsServer({ host: '127.0.0.1', port: 0, metrics, readiness });
  });
  afterAll(() => server.close());

  async function get(
    path: string,
    method = 'GET',
  ): Promise<{ status: number; body: string; type: string | null }> {
    const response = await fetch(server.url + path, { method });
    return {
      status: response.status,
      body: await response.text(),
      type: response.headers.get('content-type'),
    };
  }

  it('GET /healthz responds as long as the process lives', async () => {
    expect(await get('/healthz')).toEqual({ status: 200, body: '{"alive":true}', type: 'application/json' });
  });

  it('GET /readyz returns 503 while starting, 200 while running, 503 while stopping', async () => {
    readiness.add('database', () =>
      isDatabaseDown ? Promise.reject(new Error('ECONNREFUSED 10.0.0.1')) : Promise.resolve(),
    );
    expect(await get('/readyz')).toMatchObject({
      status: 503,
      body: expect.stringContaining('"state":"starting"') as string,
    });
    readiness.started();
    expect(await get('/readyz')).toMatchObject({
      status: 200,
      body: '{"ready":true,"state":"running","checks":{"database":"ok"}}',
    });
  });

  it('GET /readyz names the check that failed or took too long, without saying why', async () => {
    isDatabaseDown = true;
    readiness.add('redis', () => new Promise(() => undefined));
    expect(await get('/readyz')).toMatchObject({
      status: 503,
      body: '{"ready":false,"state":"running","checks":{"database":"failed","redis":"timeout"}}',
    });
  });

  it('GET /readyz returns 200 and names what failed when the process does part of its work without', async () => {
    isDatabaseDown = false;
    readiness.add('redis', () => Promise.reject(new Error('ECONNREFUSED')), { isRequired: false });
    expect(await get('/readyz')).toMatchObject({
      status: 200,
      body: '{"ready":true,"state":"running","degraded":["redis"],"checks":{"database":"ok","redis":"failed"}}',
    });
  });

  it('GET /metrics shows the process, requests by route pattern, and what the application adds', async () => {
    metrics.observeRequest({ method: 'GET', route: '/orders/:name', status: 200, seconds: 0.02 });
    metrics.observeRequest({ method: 'BREW', route: undefined, status: 404, seconds: 0.001 });
    new Gauge({ name: 'queue_depth', help: 'Jobs waiting', registers: [metrics.registry] }).set(3);
    const { status, body, type } = await get('/metrics');
    expect([status, type]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8']);
    expect(body).toContain(
      'http_requests_total{method="GET",route="/orders/:name",status="200",process="spec"} 1',
    );
    expect(body).toContain(
      'http_requests_total{method="other",route="unmatched",status="404",process="spec"} 1',
    );
    expect(body).toContain(
      'http_request_duration_seconds_bucket{le="0.025",process="spec",method="GET",route="/orders/:name",status="200"} 1',
    );
    expect(body).toContain('queue_depth{process="spec"} 3');
    expect(body).toContain('nodejs_eventloop_lag_seconds');
  });

  it('GET /metrics leaves out what cannot be read, and says which dependency is down', async () => {
    metrics.collectWithinMs = 30;
    metrics.observeDependencies(readiness);
    for (const [name, collect] of [
      ['rows_waiting', () => Promise.reject(new Error('ECONNREFUSED'))],
      ['rows_late', () => new Promise<void>(() => undefined)],
    ] as const)
      new Gauge({ name, help: 'From the database', registers: [metrics.registry], collect });
    const { status, body } = await get('/metrics');
    expect([status, body]).toEqual([200, expect.not.stringMatching(/rows_waiting|rows_late/)]);
    for (const line of [
      'certwright_metrics_missing{process="spec"} 2',
      'certwright_ready{process="spec"} 1',
      'certwright_dependency_up{dependency="database",process="spec"} 1',
      'certwright_dependency_up{dependency="redis",process="spec"} 0',
      'queue_depth{process="spec"} 3',
    ])
      expect(body).toContain(`${line}\n`);
  });

  it('returns 404 for other paths and 405 for other methods', async () => {
    expect(await get('/')).toMatchObject({ status: 404 });
    expect(await get('/metrics', 'POST')).toMatchObject({ status: 405 });
  });

  it('refuses to start on a port that is taken', async () => {
    const port = Number(new URL(server.url).port);
    await expect(
      startOperationsServer({ host: '127.0.0.1', port, metrics, readiness }),
    ).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });
});

it('certwright_ready is 0 while /readyz is 503', async () => {
  const metrics = new Metrics('spec');
  metrics.observeDependencies(new Readiness());
  expect(await metrics.render()).toContain('certwright_ready{process="spec"} 0\n');
});

it('readiness runs the checks once for concurrent requests, and again after a second', async () => {
  let checks = 0;
  let nowMs = 0;
  const readiness = new Readiness({ nowMs: () => nowMs });
  readiness.add('database', () => Promise.resolve((checks += 1)));
  readiness.started();
  await Promise.all([readiness.report(), readiness.report()]);
  await readiness.report();
  expect(checks).toBe(1);
  nowMs += 1_000;
  await readiness.report();
  expect(checks).toBe(2);
});

it('readiness runs the checks again after a tenth of a second until the process was ready for the first time', async () => {
  let nowMs = 0;
  let runs = 0;
  const readiness = new Readiness({ nowMs: () => nowMs });
  readiness.add('connection', () =>
    Promise.resolve((runs += 1) < 3 ? Promise.reject(new Error('not yet')) : 1),
  );
  readiness.started();
  for (const [atMs, ready, expected] of [
    [0, false, 1],
    [99, false, 1],
    [100, false, 2],
    [200, true, 3],
    [300, true, 4],
    [1_299, true, 4],
    [1_300, true, 5],
  ] as const) {
    nowMs = atMs;
    expect([(await readiness.report()).ready, runs]).toEqual([ready, expected]);
  }
});

it('readiness logs one line without a stack for each change of a check after the start', async () => {
  const lines: string[] = [];
  const log = createLogger('spec', 'info', { write: (line) => void lines.push(line) });
  let nowMs = 0;
  const options = { reuseMs: 0, boundMs: 30, connectingMs: 3_000, nowMs: () => nowMs };
  const readiness = new Readiness({ ...options, onChange: logReadiness(log) });
  const refused = new AggregateError([], '') as Error & { code?: string };
  refused.code = 'ECONNREFUSED';
  let check: () => Promise<unknown> = async () => await Promise.reject(new Error('OOM command not allowed'));
  readiness.add('redis', async () => await check());
  await readiness.report();
  readiness.started();
  nowMs = 2_999;
  await readiness.report();
  expect(lines).toEqual([]);
  nowMs = 3_000;
  for (let each = 0; each < 3; each += 1) await readiness.report();
  check = async () => await Promise.reject(refused);
  await readiness.report();
  check = async () => await new Promise(() => undefined);
  for (let each = 0; each < 2; each += 1) await readiness.report();
  check = async () => await Promise.resolve();
  for (let each = 0; each < 2; each += 1) await readiness.report();
  check = async () => await Promise.reject(refused);
  await readiness.report();

  expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
    { msg: 'readiness check failed', check: 'redis', result: 'failed', error: 'OOM command not allowed' },
    { msg: 'readiness check failed', check: 'redis', result: 'timeout' },
    { msg: 'readiness check passed', check: 'redis' },
    { msg: 'readiness check failed', check: 'redis', result: 'failed', error: 'ECONNREFUSED' },
  ]);
  expect(lines.join('')).not.toContain('stack');
});

describe('the clock of a server', () => {
  const day = 86_400_000;

  it.each([
    [0, true],
    [-50_000, true],
    [50_000, true],
    [-300_000, false],
    [300_000, false],
    [day, false],
  ])('%i ms ahead of ours: ready is %s', async (aheadMs, ready) => {
    const readiness = new Readiness({ reuseMs: 0 });
    readiness.shared.add('database', async () => {
      return await Promise.resolve({ serverTimeMs: Date.now() + aheadMs, setting: 'DATABASE_URL' });
    });
    readiness.started();
    expect(await readiness.report()).toMatchObject({
      ready,
      checks: { database: 'ok', clock: ready ? 'ok' : 'failed' },
    });
  });

  it('is compared as it was read last while the server is down, and one line says by how much it differs', async () => {
    const errors: unknown[] = [];
    const onChange = (check: string, _result: string, error: unknown) => {
      if (check === 'clock') errors.push((error as Error | undefined)?.message);
    };
    const readiness = new Readiness({ reuseMs: 0, onChange });
    let read = async () =>
      await Promise.resolve({ serverTimeMs: Date.now() - 300_000, setting: 'DATABASE_URL' });
    readiness.shared.add('database', async () => await read());
    readiness.started();
    expect((await readiness.report()).ready).toBe(false);
    read = async () => await Promise.reject(new Error('ECONNREFUSED'));
    expect((await readiness.report()).ready).toBe(false);
    read = async () => await Promise.resolve({ serverTimeMs: Date.now(), setting: 'DATABASE_URL' });
    expect((await readiness.report()).ready).toBe(true);
    expect(errors).toEqual([
      'the clock of this machine is 300 s ahead of DATABASE_URL; synchronize both machines, for example with NTP',
      undefined,
    ]);
    const metrics = new Metrics('spec');
    metrics.observeDependencies(readiness);
    expect(await metrics.render()).toMatch(
      /certwright_clock_offset_seconds\{setting="DATABASE_URL",process="spec"\} 0/,
    );
  });
});
