import { exchange, parseResponse, request, type WireResponse } from '../testing/wire';
import { type SampleApi, sampleKeys, startSampleApi } from '../testing/sample-api';

let api: SampleApi;
beforeAll(async () => {
  api = await startSampleApi();
});
afterAll(() => api.app.close());

const bearer = `Authorization: Bearer ${sampleKeys.owner}`;
const json = 'Content-Type: application/json';

async function send(
  line: string,
  headers: readonly string[] = [],
  body: string | Buffer = '',
): Promise<WireResponse> {
  return parseResponse(await exchange(api.port, request(line, headers, body)));
}
const code = ({ body }: WireResponse): unknown => (JSON.parse(body) as { code?: unknown }).code;

describe('an answer', () => {
  it('carries its request id, security headers and JSON', async () => {
    const { status, headers, body } = await send('GET /orders/example.com', [
      bearer,
      'X-Request-Id: my-1.request_2',
    ]);
    expect({ status, body, headers }).toEqual({
      status: 200,
      body: '{"name":"example.com","account":"42"}',
      headers: {
        'cache-control': 'no-store',
        connection: 'close',
        'content-length': '37',
        'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
        'content-type': 'application/json; charset=utf-8',
        date: expect.any(String) as string,
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
        'x-request-id': 'my-1.request_2',
      },
    });
  });

  it.each(['GET /nothing', 'GET /orders', 'PUT /orders', 'GET /%zz', 'GET /faults/x', 'GET /download/x'])(
    '%s: carries a request id of ours when the caller’s is not well-formed',
    async (line) => {
      const { headers } = await send(line, ['X-Request-Id: a b']);
      expect(headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
      const long = await send(line, [`X-Request-Id: ${'a'.repeat(129)}`]);
      expect(long.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    },
  );

  it('may have exactly application/json as its type, errors of every layer included', async () => {
    const exact = await startSampleApi({
      jsonContentType: 'application/json',
      headers: { 'Access-Control-Allow-Origin': '*' },
    });
    try {
      const lines = [
        'GET /whoami',
        'GET /orders',
        'GET /nothing',
        'GET /%zz',
        'GET /faults/x',
        'NONSENSE',
        'GET /healthz',
      ];
      for (const line of lines) {
        const { headers } = parseResponse(
          await exchange(exact.port, request(line, line === 'GET /whoami' ? [bearer] : [])),
        );
        expect([line, headers['content-type']]).toEqual([line, 'application/json']);
        if (line !== 'NONSENSE') expect(headers['access-control-allow-origin']).toBe('*');
      }
    } finally {
      await exact.app.close();
    }
  });

  it('keeps the type that a route declares', async () => {
    expect((await send('GET /download/token')).headers['content-type']).toContain('application/x-pem-file');
  });
});

describe('a path', () => {
  it.each(['/orders/', '//orders', '/orders//', '//orders//'])('%s is /orders', async (path) => {
    expect(await send(`GET ${path}`, [bearer])).toMatchObject({ status: 200, body: '{"after":null}' });
  });

  it('may hold a name of 255 characters, each percent-encoded from four bytes', async () => {
    const name = '😀'.repeat(255);
    const { status, body } = await send(`GET /orders/${encodeURIComponent(name)}`, [bearer]);
    const bytes = Buffer.from(body, 'latin1').toString('utf8');
    expect([status, JSON.parse(bytes)]).toEqual([200, { name, account: '42' }]);
  });

  it.each(['*.example.com', 'a/b', 'a%b', 'a?b#c', '..', 'ä', '__proto__'])(
    'may hold the name %s',
    async (name) => {
      const { status, body } = await send(`GET /orders/${encodeURIComponent(name)}`, [bearer]);
      expect([status, JSON.parse(Buffer.from(body, 'latin1').toString('utf8'))]).toMatchObject([
        200,
        { name },
      ]);
    },
  );

  it('that nothing answers is 404, without a look at credentials or body', async () => {
    const response = await send('POST /nothing', [json], '{"broken');
    expect([response.status, code(response)]).toEqual([404, 'not_found']);
  });

  it('that answers other methods is 405 with Allow', async () => {
    const response = await send('PATCH /orders/example.com', [json], '{}');
    expect([response.status, code(response), response.headers['allow']]).toEqual([
      405,
      'method_not_allowed',
      'DELETE, GET, HEAD, OPTIONS',
    ]);
  });
});

describe('a method', () => {
  it('HEAD answers as GET does, without the body', async () => {
    const get = await send('GET /orders/example.com', [bearer]);
    const head = await send('HEAD /orders/example.com', [bearer]);
    expect([head.status, head.body, head.headers['content-length'], head.headers['content-type']]).toEqual([
      200,
      '',
      get.headers['content-length'],
      get.headers['content-type'],
    ]);
    expect((await send('HEAD /orders/example.com')).status).toBe(401);
  });

  it('OPTIONS lists the methods of a URL, without credentials', async () => {
    const { status, headers, body } = await send('OPTIONS /orders');
    expect([status, headers['allow'], body]).toEqual([204, 'GET, HEAD, OPTIONS, POST', '']);
    expect((await send('OPTIONS /nothing')).status).toBe(404);
  });

  it.each(['TRACE', 'PUT', 'PROPFIND', 'QUERY'])('%s is not answered', async (method) => {
    const response = await send(`${method} /orders`);
    expect([response.status, code(response)]).toEqual([405, 'method_not_allowed']);
  });
});

describe('an error', () => {
  it('that is unexpected is a bare internal_error; its text and stack are in the log', async () => {
    const response = await send('GET /faults/sql', ['X-Request-Id: fault-1']);
    expect([response.status, response.body]).toEqual([
      500,
      '{"code":"internal_error","message":"Something went wrong on our side."}',
    ]);
    const logged = api.lines
      .filter((line) => line.includes('fault-1'))
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(logged).toMatchObject([
      {
        level: 'error',
        route: '/faults/:kind',
        err: {
          message: expect.stringContaining('SELECT secret') as string,
          stack: expect.stringContaining('sample-module') as string,
        },
      },
      { level: 'info', status: 500 },
    ]);
  });

  it('may be nothing at all', async () => {
    expect((await send('GET /faults/undefined')).status).toBe(500);
  });

  it('of a database that is down is mapped by the application, with Retry-After', async () => {
    const { status, headers, body } = await send('GET /faults/database');
    expect([status, headers['retry-after'], body]).toEqual([
      503,
      '5',
      '{"code":"service_outage","message":"Try again soon."}',
    ]);
  });

  it('that cannot be rendered still reveals nothing', async () => {
    expect(await send('GET /faults/unrenderable')).toMatchObject({
      status: 500,
      body: '{"code":"internal_error"}',
    });
  });
});
