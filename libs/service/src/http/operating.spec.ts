import { type SampleApi, sampleKeys, startSampleApi } from '../testing/sample-api';
import { slowRequests } from '../testing/sample-module';
import { exchange, parseResponse, request, type WireResponse } from '../testing/wire';
import { closeHttpApp } from './http-app';

let api: SampleApi;
beforeAll(async () => {
  api = await startSampleApi();
});
afterAll(() => api.app.close());

const bearer = `Authorization: Bearer ${sampleKeys.owner}`;

async function send(line: string, headers: readonly string[] = []): Promise<WireResponse> {
  return parseResponse(await exchange(api.port, request(line, headers)));
}

describe('the log', () => {
  it('has one line per request, with the route’s pattern in place of the path and its secrets', async () => {
    await send('GET /download/top-secret-token?key=top-secret-query', ['X-Request-Id: log-1']);
    await send('GET /orders/example.com', [bearer, 'X-Request-Id: log-2']);
    await send('GET /top-secret-unknown', ['X-Request-Id: log-3']);
    const logged = api.lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    const ofRequest = (id: string): unknown[] => logged.filter((line) => line['request_id'] === id);
    expect(ofRequest('log-1')).toMatchObject([
      {
        msg: 'request',
        method: 'GET',
        route: '/download/:token',
        status: 200,
        ms: expect.any(Number) as number,
      },
    ]);
    expect(ofRequest('log-2')).toMatchObject([{ route: '/orders/:name', status: 200, account_id: '42' }]);
    expect(ofRequest('log-3')).toMatchObject([{ route: null, status: 404 }]);
    expect(api.lines.join()).not.toMatch(/top-secret|oooo/);
  });

  it('is matched by the metrics', async () => {
    await send('GET /whoami', [bearer]);
    expect(await api.metrics.render()).toMatch(
      /http_requests_total\{method="GET",route="\/whoami",status="200",process="sample"\} 1/,
    );
  });
});

describe('health', () => {
  it('is on the API’s port as well, without credentials', async () => {
    expect(await send('GET /healthz')).toMatchObject({ status: 200, body: '{"alive":true}' });
    expect(await send('GET /readyz')).toMatchObject({
      status: 200,
      body: '{"ready":true,"state":"running"}',
    });
  });
});

describe('a process that got SIGTERM', () => {
  it('serves new connections, and closes each after one response', async () => {
    const own = await startSampleApi();
    own.readiness.stopping();
    for (const [path, status] of [
      ['/healthz', 200],
      ['/readyz', 503],
      ['/unknown', 404],
    ] as const) {
      // The request allows to keep the connection; the exchange ends when the server closes it.
      const response = parseResponse(await exchange(own.port, `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`));
      expect([response.status, response.headers['connection']]).toEqual([status, 'close']);
    }
    await closeHttpApp(own.app, 0);
  });
});

describe('closing', () => {
  it('finishes the request under way and takes no other', async () => {
    const own = await startSampleApi();
    let release: () => void = () => undefined;
    slowRequests.released = new Promise((resolve) => (release = resolve));
    const begun = new Promise<void>((resolve) => (slowRequests.begun = resolve));
    const pending = fetch(`${own.origin}/slow`);
    await begun;
    const closed = closeHttpApp(own.app, 5_000);
    await expect(exchange(own.port, request('GET /healthz'))).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    release();
    const response = await pending;
    expect([response.status, response.headers.get('connection'), await response.json()]).toEqual([
      200,
      'close',
      { slow: true },
    ]);
    await closed;
  });

  it('does not wait for a connection that was opened in advance', async () => {
    const own = await startSampleApi();
    const closed = new Promise((resolve) => own.app.getHttpServer().once('close', resolve));
    const silence = exchange(own.port, '');
    await new Promise((resolve) => own.app.getHttpServer().once('connection', resolve));
    await closeHttpApp(own.app, 60_000);
    await closed;
    expect(await silence).toBe('');
  });

  it('cuts a request that does not finish in time', async () => {
    const own = await startSampleApi();
    slowRequests.released = new Promise(() => undefined);
    const begun = new Promise<void>((resolve) => (slowRequests.begun = resolve));
    const pending = fetch(`${own.origin}/slow`);
    const failure = expect(pending).rejects.toThrow();
    await begun;
    await closeHttpApp(own.app, 20);
    await failure;
  });
});
