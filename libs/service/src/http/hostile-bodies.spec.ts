import { connect } from 'node:net';
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

const echo = (headers: readonly string[], body: string | Buffer): Buffer =>
  request('POST /echo', headers, body);
const chunked = (...chunks: readonly string[]): string =>
  [...chunks, ''].map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join('');

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
  ])('%s receives 400', async (_what, body) => {
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
  ])('of %s receives 415', async (_what, header) => {
    expect(await refusal(echo([header], '{"a":1}'))).toEqual([415, 'unsupported_media_type']);
  });

  it('that is compressed receives 415', async () => {
    expect(await refusal(echo([json, 'Content-Encoding: gzip'], Buffer.alloc(20)))).toEqual([
      415,
      'unsupported_media_type',
    ]);
  });

  it.each(['application/json', 'application/json; charset=utf-8', 'Application/JSON;charset="UTF-8"'])(
    'of %s is read',
    async (type) => {
      const { status, body } = parseResponse(
        await exchange(api.port, echo([`Content-Type: ${type}`], '{"a":"\\ud83d\\ude00"}')),
      );
      expect([status, Buffer.from(body, 'latin1').toString()]).toEqual([200, '{"body":{"a":"😀"}}']);
    },
  );

  it('beyond 256 KiB receives 413, however it is sent', async () => {
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
    expect(parseResponse(await exchange(api.port, echo([json], body))).status).toBe(200);
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
    expect(parseResponse(await exchange(api.port, request('DELETE /orders/a', [bearer, json]))).status).toBe(
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
