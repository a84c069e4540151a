import { connect } from 'node:net';
import { type SampleApi, sampleKeys, startSampleApi } from '../testing/sample-api';
import { exchange, parseAnswer, request } from '../testing/wire';

let api: SampleApi;
beforeAll(async () => {
  api = await startSampleApi();
});
afterAll(() => api.app.close());

/** After each attack the process lives, and has never answered 5xx nor logged an error. */
afterEach(async () => {
  const health = parseAnswer(await exchange(api.port, request('GET /healthz')));
  expect(health.status).toBe(200);
  expect(api.lines.filter((line) => /"level":"(error|fatal)"/.test(line))).toEqual([]);
});

const json = 'Content-Type: application/json';
const bearer = `Authorization: Bearer ${sampleKeys.owner}`;

/** Status and code of the answer to these bytes, which must be a Problem in the API's dialect. */
async function refusal(...parts: readonly (string | Buffer)[]): Promise<[number, unknown]> {
  const raw = await exchange(api.port, ...parts);
  const { status, headers, body } = parseAnswer(raw);
  expect(headers['x-request-id']).toMatch(/^[\w.-]{1,128}$/);
  expect(headers['content-type']).toBe('application/json; charset=utf-8');
  expect(headers['content-length']).toBe(String(Buffer.byteLength(body, 'latin1')));
  return [status, (JSON.parse(body) as { code: unknown }).code];
}

const echo = (headers: readonly string[], body: string | Buffer): Buffer =>
  request('POST /echo', headers, body);
const chunked = (...chunks: readonly string[]): string =>
  [...chunks, ''].map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join('');

describe('broken HTTP is answered 400 as a Problem', () => {
  const head = 'GET /healthz HTTP/1.1\r\n';
  it.each([
    ['no HTTP at all', 'NONSENSE\r\n\r\n'],
    ['TLS on a plain port', Buffer.from('160301020001000001fc0303', 'hex')],
    ['an unknown method', 'BREW /coffee HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['an unknown version', 'GET / HTTP/9.9\r\nHost: a\r\n\r\n'],
    ['a header name with a space', `${head}Host: a\r\nBad Name: x\r\n\r\n`],
    ['a NUL in a header', `${head}Host: a\r\nX: a\0b\r\n\r\n`],
    ['a bare line feed in a header', `${head}Host: a\r\nX: a\rb\r\n\r\n`],
    ['a folded header', `${head}Host: a\r\n folded\r\n\r\n`],
    ['two lengths', 'POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab'],
    [
      'a length and chunks',
      'POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['a negative length', 'POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n'],
    ['an endless length', `POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: ${'9'.repeat(40)}\r\n\r\n`],
    [
      'chunks that are none',
      `POST /echo HTTP/1.1\r\nHost: a\r\n${json}\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n`,
    ],
    ['no Host', `${head}Connection: close\r\n\r\n`],
    ['two Hosts', `${head}Host: a\r\nHost: b\r\nConnection: close\r\n\r\n`],
    ['an unknown expectation', request('GET /healthz', ['Expect: a-miracle'])],
  ])('%s', async (_what, bytes) => {
    expect(await refusal(bytes)).toEqual([400, 'bad_request']);
  });
});

describe('a URL', () => {
  it.each([
    ['%zz', '/orders/%zz'],
    ['half a percent-encoding', '/orders/a%4'],
    ['percent-encoded Latin-1', '/orders/%E4'],
    ['an overlong encoding', '/orders/%C0%AE'],
    ['a percent-encoded surrogate', '/orders/%ED%A0%80'],
    ['a NUL', '/orders/a%00b'],
    ['a NUL in the query', '/orders?after=%00'],
    ['a broken percent-encoding in the query', '/orders?after=%zz'],
    ['bytes beyond ASCII', '/orders/\u00e4'],
    ['nothing that answers and %zz', '/nowhere/%zz'],
    ['a parameter beyond every name', `/orders/${'a'.repeat(1_021)}`],
    ['more than 8,000 bytes', `/orders/${'a/'.repeat(4_100)}`],
  ])('with %s is answered 400', async (_what, path) => {
    expect(await refusal(request(`GET ${path}`, [bearer]))).toEqual([400, 'bad_request']);
  });

  it('beyond 16 KiB is answered 413', async () => {
    expect(await refusal(request(`GET /${'a'.repeat(20_000)}`))).toEqual([413, 'request_too_large']);
  });

  it.each([
    '/../../etc/passwd',
    '/orders/../../etc/passwd',
    '/%2e%2e/%2e%2e/etc/passwd',
    '//etc/passwd',
    '/orders/..%2f..%2fetc',
    '/.git/config',
  ])('%s leaves the tree nowhere', async (path) => {
    expect([401, 404]).toContain((await refusal(request(`GET ${path}`)))[0]);
  });

  it.each(['*', 'orders', 'example.com:443', 'ftp://a/orders', 'http://', '/*', '/orders;a=b', '/orders#x'])(
    '%s is answered without 5xx',
    async (target) => {
      for (const method of ['GET', 'OPTIONS', 'HEAD']) {
        const { status } = parseAnswer(await exchange(api.port, request(`${method} ${target}`)));
        expect([method, target, status < 500 && status >= 200]).toEqual([method, target, true]);
      }
    },
  );

  it('in absolute form is read as its path', async () => {
    const answer = parseAnswer(await exchange(api.port, request(`GET http://127.0.0.1/orders/a`, [bearer])));
    expect([answer.status, answer.body]).toEqual([200, '{"name":"a","account":"42"}']);
  });
});

describe('a header', () => {
  it('beyond 16 KiB is answered 413', async () => {
    expect(await refusal(request('GET /healthz', [`X: ${'a'.repeat(20_000)}`]))).toEqual([
      413,
      'request_too_large',
    ]);
    const many = Array.from({ length: 3_000 }, (_, n) => `X-${n}: a`);
    expect(await refusal(request('GET /healthz', many))).toEqual([413, 'request_too_large']);
  });
});

describe('a body', () => {
  it.each([
    ['empty', ''],
    ['broken', '{"a":'],
    ['two values', '{}{}'],
    ['not UTF-8', Buffer.from([0x22, 0xff, 0x22])],
    ['with __proto__', '{"__proto__":{"admin":true}}'],
    ['with an escaped __proto__', '{"a":[{"__pr\\u006fto__":1}]}'],
    ['with half a surrogate pair', '{"a":"\\ud800"}'],
    ['with half a surrogate pair as a name', '{"\\udc00":1}'],
    ['with a NUL', '{"a":"b\\u0000"}'],
    ['of 10,000 nested arrays', '['.repeat(10_000) + ']'.repeat(10_000)],
    ['of 40,000 nested objects', '{"a":'.repeat(40_000) + '1' + '}'.repeat(40_000)],
    ['of NaN', '{"a":NaN}'],
  ])('%s is answered 400', async (_what, body) => {
    expect(await refusal(echo([json, `Content-Length: ${Buffer.byteLength(body)}`], body))).toEqual([
      400,
      'bad_request',
    ]);
  });

  it.each([
    ['text/plain', 'Content-Type: text/plain'],
    ['a form', 'Content-Type: application/x-www-form-urlencoded'],
    ['multipart', 'Content-Type: multipart/form-data; boundary=x'],
    ['another JSON', 'Content-Type: application/vnd.api+json'],
    ['another charset', 'Content-Type: application/json; charset=iso-8859-1'],
    ['a broken type', 'Content-Type: ///;;='],
    ['no type', 'X: y'],
    ['a prefix of the type', 'Content-Type: application/jsonx'],
  ])('of %s is answered 415', async (_what, header) => {
    expect(await refusal(echo([header], '{"a":1}'))).toEqual([415, 'unsupported_media_type']);
  });

  it('that is compressed is answered 415', async () => {
    expect(await refusal(echo([json, 'Content-Encoding: gzip'], Buffer.alloc(20)))).toEqual([
      415,
      'unsupported_media_type',
    ]);
  });

  it.each(['application/json', 'application/json; charset=utf-8', 'Application/JSON;charset="UTF-8"'])(
    'of %s is read',
    async (type) => {
      const { status, body } = parseAnswer(
        await exchange(api.port, echo([`Content-Type: ${type}`], '{"a":"\\ud83d\\ude00"}')),
      );
      expect([status, Buffer.from(body, 'latin1').toString()]).toEqual([200, '{"body":{"a":"😀"}}']);
    },
  );

  it('beyond 256 KiB is answered 413, however it is sent', async () => {
    const big = JSON.stringify('a'.repeat(256 * 1024));
    expect(await refusal(echo([json], big))).toEqual([413, 'request_too_large']);
    const chunks = Array.from({ length: 80 }, () => 'a'.repeat(4_096));
    expect(await refusal(echo([json, 'Transfer-Encoding: chunked'], chunked(...chunks)))).toEqual([
      413,
      'request_too_large',
    ]);
    expect(await refusal(request('POST /echo', [json, 'Content-Length: 999999999999']))).toEqual([
      413,
      'request_too_large',
    ]);
  });

  it('of 256 KiB is read', async () => {
    const body = JSON.stringify('a'.repeat(256 * 1024 - 2));
    expect(parseAnswer(await exchange(api.port, echo([json], body))).status).toBe(200);
  });

  it('beyond 256 KiB is answered to a client that sends everything before it listens', async () => {
    const response = await fetch(`${api.origin}/echo`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: 'a'.repeat(8_000_000),
    });
    expect(response.status).toBe(413);
  });

  it('that a DELETE announces but does not send is none', async () => {
    expect(parseAnswer(await exchange(api.port, request('DELETE /orders/a', [bearer, json]))).status).toBe(
      204,
    );
  });

  it('of a request without credentials is not looked at', async () => {
    expect(await refusal(request('POST /orders', [json], '{"broken'))).toEqual([401, 'bad_credentials']);
    expect(await refusal(request('POST /orders', ['Content-Type: text/plain'], 'x'))).toEqual([
      401,
      'bad_credentials',
    ]);
  });

  it('that breaks off leaves nothing behind', async () => {
    const socket = connect(api.port, '127.0.0.1');
    socket.end(request('POST /echo', [json, 'Content-Length: 100'], '{"a"'));
    socket.resume();
    await new Promise((resolve) => socket.once('close', resolve));
  });
});

describe('credentials', () => {
  it.each([
    ['none', 'X: y'],
    ['an unknown key', `Authorization: Bearer 1_${'x'.repeat(32)}`],
    ['an unknown scheme', 'Authorization: Negotiate abc'],
    ['a password', `Authorization: Basic ${Buffer.from(`${sampleKeys.owner}:x`).toString('base64')}`],
  ])('%s: 401 with both challenges', async (_what, header) => {
    const { status, headers, body } = parseAnswer(await exchange(api.port, request('GET /whoami', [header])));
    expect([status, (JSON.parse(body) as { code: string }).code, headers['www-authenticate']]).toEqual([
      401,
      'bad_credentials',
      'Bearer realm="Certwright"\nBasic realm="Certwright", charset="UTF-8"',
    ]);
  });

  it('that work say who calls, as Bearer and as Basic', async () => {
    const basic = `Authorization: Basic ${Buffer.from(`${sampleKeys.owner}:`).toString('base64')}`;
    for (const header of [bearer, basic]) {
      expect(parseAnswer(await exchange(api.port, request('GET /whoami', [header]))).body).toBe(
        '{"accountId":"42","keyId":"1"}',
      );
    }
  });

  it('that are disabled, or lack the permission, are answered 403', async () => {
    expect(await refusal(request('GET /orders', [`Authorization: Bearer ${sampleKeys.disabled}`]))).toEqual([
      403,
      'disabled_credentials',
    ]);
    expect(await refusal(request('GET /orders', [`Authorization: Bearer ${sampleKeys.searcher}`]))).toEqual([
      403,
      'unauthorized',
    ]);
  });

  it('beyond their rate are answered 429 with Retry-After', async () => {
    const write = request('DELETE /orders/a', [`Authorization: Bearer ${sampleKeys.busy}`]);
    const statuses: number[] = [];
    for (let i = 0; i < 5; i += 1) statuses.push(parseAnswer(await exchange(api.port, write)).status);
    expect(statuses).toEqual([204, 204, 204, 204, 429]);
    expect(parseAnswer(await exchange(api.port, write)).headers['retry-after']).toBe('1');
  });

  it('that are wrong are answered 429 after ten from one address, right ones still work', async () => {
    const own = await startSampleApi({ trustedProxies: ['127.0.0.0/8'] });
    try {
      const from = (address: string, key: string): Promise<string> =>
        exchange(
          own.port,
          request('GET /whoami', [
            `Authorization: Bearer ${key}`,
            `X-Forwarded-For: 198.51.100.1, ${address}`,
          ]),
        );
      const wrong = `1_${'w'.repeat(32)}`;
      const statuses: number[] = [];
      for (let i = 0; i < 11; i += 1)
        statuses.push(parseAnswer(await from(`2001:db8:0:1::${i}`, wrong)).status);
      expect(statuses).toEqual([...Array<number>(10).fill(401), 429]);
      expect(parseAnswer(await from('2001:db8:0:1::1', sampleKeys.owner)).status).toBe(200);
      expect(parseAnswer(await from('2001:db8:0:2::1', wrong)).status).toBe(401);
      expect(parseAnswer(await from('not an address', wrong)).status).toBe(401);
    } finally {
      await own.app.close();
    }
  });
});

describe('a slow client', () => {
  it('gets its answer when the header or the body takes too long, and the connection is closed', async () => {
    const own = await startSampleApi({ timeouts: { headersMs: 100, requestMs: 200, checkEveryMs: 20 } });
    try {
      const header = parseAnswer(await exchange(own.port, 'GET /healthz HTTP/1.1\r\nHost: a\r\n'));
      expect([header.status, header.body]).toEqual([
        400,
        '{"code":"bad_request","message":"The request took too long to arrive."}',
      ]);
      const body = parseAnswer(
        await exchange(own.port, request('POST /echo', [json, 'Content-Length: 50'], '{"a"')),
      );
      expect(body.status).toBe(400);
      expect(parseAnswer(await exchange(own.port, '')).status).toBe(400);
    } finally {
      await own.app.close();
    }
  });

  it('may send its request byte by byte', async () => {
    const bytes = [...request('GET /orders/a', [bearer]).toString('latin1')];
    expect(parseAnswer(await exchange(api.port, ...bytes)).status).toBe(200);
  });
});

describe('pipelined requests', () => {
  it('are answered in order', async () => {
    const raw = await exchange(
      api.port,
      Buffer.concat([Buffer.from('GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n'), request('GET /healthz')]),
    );
    expect(raw.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 404', 'HTTP/1.1 200']);
  });

  it('do not get the answer that belongs to a broken one after them', async () => {
    const raw = await exchange(api.port, 'GET /healthz HTTP/1.1\r\nHost: a\r\n\r\nGARBAGE\r\n\r\n');
    expect(raw.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200']);
  });
});

it('a client that goes away at once harms nobody', async () => {
  await Promise.all(
    Array.from({ length: 20 }, async () => {
      const socket = connect(api.port, '127.0.0.1');
      await new Promise((resolve) => socket.once('connect', resolve));
      socket.write(request('POST /echo', [json, 'Content-Length: 100'], '{"a'));
      socket.resetAndDestroy();
      await new Promise((resolve) => socket.once('close', resolve));
    }),
  );
});
