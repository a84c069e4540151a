import { connect } from 'node:net';
import { eventually } from '@certwright/testing';
import { type SampleApi, sampleKeys, startSampleApi } from '../testing/sample-api';
import { exchange, expectUnharmed, parseResponse, refusalOf, request } from '../testing/wire';

let api: SampleApi;
beforeAll(async () => {
  api = await startSampleApi();
});
afterAll(() => api.app.close());

afterEach(async () => await expectUnharmed(api));

const json = 'Content-Type: application/json';
const bearer = `Authorization: Bearer ${sampleKeys.owner}`;

const refusal = async (...parts: readonly (string | Buffer)[]) => await refusalOf(api, ...parts);

describe('broken HTTP receives 400 as a Problem', () => {
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
    ['two Authorizations', request('GET /whoami', [bearer, `authorization: Bearer 1_${'x'.repeat(32)}`])],
    ['the same Authorization twice', request('GET /whoami', [bearer, bearer])],
    ['two Authorizations for what is public', request('GET /healthz', [bearer, 'AUTHORIZATION:'])],
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
    ['more than 15,000 bytes', `/orders/${'a/'.repeat(7_600)}`],
  ])('with %s receives 400', async (_what, path) => {
    expect(await refusal(request(`GET ${path}`, [bearer]))).toEqual([400, 'bad_request']);
  });

  it('beyond 16 KiB receives 413', async () => {
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
        const { status } = parseResponse(await exchange(api.port, request(`${method} ${target}`)));
        expect([method, target, status < 500 && status >= 200]).toEqual([method, target, true]);
      }
    },
  );

  it('in absolute form is read as its path', async () => {
    const response = parseResponse(
      await exchange(api.port, request(`GET http://127.0.0.1/orders/a`, [bearer])),
    );
    expect([response.status, response.body]).toEqual([200, '{"name":"a","account":"42"}']);
  });
});

describe('a header', () => {
  it('beyond 16 KiB receives 413', async () => {
    expect(await refusal(request('GET /healthz', [`X: ${'a'.repeat(20_000)}`]))).toEqual([
      413,
      'request_too_large',
    ]);
    const many = Array.from({ length: 3_000 }, (_, n) => `X-${n}: a`);
    expect(await refusal(request('GET /healthz', many))).toEqual([413, 'request_too_large']);
  });
});

describe('a slow client', () => {
  it('gets its answer when the header or the body takes too long, and the connection is closed', async () => {
    const own = await startSampleApi({ timeouts: { headersMs: 100, requestMs: 200, checkEveryMs: 20 } });
    try {
      const header = parseResponse(await exchange(own.port, 'GET /healthz HTTP/1.1\r\nHost: a\r\n'));
      expect([header.status, header.body]).toEqual([
        400,
        '{"code":"bad_request","message":"The request took too long to arrive."}',
      ]);
      const body = parseResponse(
        await exchange(own.port, request('POST /echo', [json, 'Content-Length: 50'], '{"a"')),
      );
      expect(body.status).toBe(400);
      expect(parseResponse(await exchange(own.port, '')).status).toBe(400);
    } finally {
      await own.app.close();
    }
  });

  it('may send its request byte by byte', async () => {
    const bytes = [...request('GET /orders/a', [bearer]).toString('latin1')];
    expect(parseResponse(await exchange(api.port, ...bytes)).status).toBe(200);
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

it('a client that sends more before it reads still gets the response to what cannot be parsed', async () => {
  const socket = connect({ port: api.port, host: '127.0.0.1', noDelay: true });
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  socket.on('error', () => undefined).pause();
  const logged = api.lines.length;
  socket.write('NONSENSE\r\n\r\n');
  await eventually(() => expect(api.lines.length).toBeGreaterThan(logged));
  for (let chunk = 0; chunk < 5; chunk += 1)
    await new Promise((resolve) => socket.write('a'.repeat(1_000), () => setTimeout(resolve, 20)));
  let received = '';
  socket.on('data', (bytes) => (received += bytes.toString('latin1'))).resume();
  await closed;
  expect(parseResponse(received).status).toBe(400);
});

it('a client that disconnects at once does no harm', async () => {
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
