import { createSocket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import {
  RCODE,
  readTsigKey,
  signRequest,
  type TsigKey,
  updateBytes,
  verifyResponse,
} from '@certwright/dns-authority';
import { readConfig } from './config';
import { DemoDns } from './demo-dns';
import { JsonLog, type LogLevel } from './json-log';

const running: DemoDns[] = [];
const folders: string[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((demo) => demo.stop()));
  await Promise.all(folders.splice(0).map((folder) => rm(folder, { recursive: true })));
});

interface HttpResponse {
  readonly status: number;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly body: unknown;
}

async function start(env: Record<string, string> = {}, level: LogLevel = 'info') {
  const lines: string[] = [];
  const log = new JsonLog(level, (line) => lines.push(line));
  const demo = new DemoDns({ ...readConfig(env), dnsPort: 0, controlPort: 0 }, log);
  running.push(demo);
  const { dns, control } = await demo.start();
  const resolver = new Resolver({ timeout: 20_000, tries: 1 });
  resolver.setServers([`127.0.0.1:${dns}`]);

  const http = (
    method: string,
    target: string,
    body?: string | Buffer,
    headers: Record<string, string> = {},
  ) =>
    new Promise<HttpResponse>((resolve, reject) => {
      const sent = request(
        { port: control, host: '127.0.0.1', method, path: target, agent: false },
        (response) => {
          let received = '';
          response.setEncoding('utf8').on('data', (part) => (received += part));
          response.on('end', () =>
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers,
              body: JSON.parse(received),
            }),
          );
        },
      );
      sent.on('error', reject);
      if (body !== undefined) {
        sent.setHeader('Content-Type', 'application/json');
        sent.setHeader('Content-Length', Buffer.byteLength(body));
      }
      for (const [name, value] of Object.entries(headers)) sent.setHeader(name, value);
      sent.end(body);
    });
  const json = (method: string, body: unknown) => http(method, '/records', JSON.stringify(body));
  return { demo, dns, resolver, http, json, lines };
}

async function folder(): Promise<string> {
  const made = await mkdtemp(path.join(tmpdir(), 'demo-dns-'));
  folders.push(made);
  return made;
}

const NAME = '_acme-challenge.www.example.com';
const DELEGATION = { name: NAME, type: 'CNAME', value: 's3cret.approval.example.net' };

describe('the zones', () => {
  it('return SOA, NS and A at each apex, and refuse other names', async () => {
    const { resolver } = await start();
    for (const zone of ['example.com', 'example.net', 'example.org']) {
      expect(await resolver.resolveNs(zone)).toEqual([`ns1.${zone}`]);
      expect(await resolver.resolve4(zone)).toEqual(['127.0.0.1']);
      expect(await resolver.resolve4(`ns1.${zone}`)).toEqual(['127.0.0.1']);
    }
    await expect(resolver.resolve4('example.edu')).rejects.toMatchObject({ code: 'EREFUSED' });
  });
});

describe('DEMO_TSIG_KEY', () => {
  const secret = Buffer.alloc(32, 3).toString('base64');
  const key = readTsigKey({ name: 'demo', algorithm: 'hmac-sha256', secret }) as TsigKey;
  const nowS = Math.floor(Date.now() / 1000);
  const value = (text: string) => ({ type: 'TXT', name: NAME, ttl: 60, data: [Buffer.from(text)] }) as const;
  const update = (text: string) =>
    updateBytes({
      id: 5,
      zone: 'example.com',
      prerequisites: [],
      steps: [{ step: 'add', record: value(text) }],
    });
  async function exchange(port: number, message: Buffer): Promise<Buffer> {
    const socket = createSocket('udp4');
    try {
      socket.send(message, port, '127.0.0.1');
      return ((await once(socket, 'message', { signal: AbortSignal.timeout(20_000) })) as [Buffer])[0];
    } finally {
      socket.close();
    }
  }
  const rcodeOf = (response: Buffer) => response.readUInt16BE(2) & 0xf;

  it('accepts updates signed with it, signs its responses, and accepts unsigned ones from this machine', async () => {
    const { dns, resolver } = await start({ DEMO_TSIG_KEY: `demo:hmac-sha256:${secret}` });
    const { message, mac } = signRequest(update('signed'), key, nowS);
    const response = await exchange(dns, message);
    expect(verifyResponse(response, key, mac, nowS)).toMatchObject({ verdict: 'valid' });
    expect(rcodeOf(response)).toBe(RCODE.NOERROR);
    expect(rcodeOf(await exchange(dns, update('unsigned')))).toBe(RCODE.NOERROR);
    const forged = signRequest(update('forged'), { ...key, secret: Buffer.alloc(32) }, nowS);
    expect(rcodeOf(await exchange(dns, forged.message))).toBe(RCODE.NOTAUTH);
    expect((await resolver.resolveTxt(NAME)).flat().sort()).toEqual(['signed', 'unsigned']);
  });

  it('is none by default: a signed update is refused', async () => {
    const { dns } = await start();
    expect(rcodeOf(await exchange(dns, signRequest(update('signed'), key, nowS).message))).toBe(
      RCODE.NOTAUTH,
    );
  });
});

describe('POST /records', () => {
  it('publishes a record, which DNS returns at once', async () => {
    const { json, resolver } = await start();
    const before = await resolver.resolveSoa('example.com');
    expect(
      await json('POST', { ...DELEGATION, type: 'cname', value: 'S3CRET.approval.example.net.' }),
    ).toMatchObject({
      status: 201,
      body: { ...DELEGATION, ttl: 5 },
    });
    expect(await resolver.resolveCname(NAME)).toEqual([DELEGATION.value]);
    expect((await resolver.resolveSoa('example.com')).serial).toBe(before.serial + 1);
  });

  it('accepts each type', async () => {
    const { json, http, resolver } = await start();
    const long = 'ü'.repeat(300);
    const records = [
      { name: 'a.example.com', type: 'A', value: '127.0.0.3' },
      { name: 'aaaa.example.com', type: 'AAAA', value: '2001:DB8:0::1' },
      { name: 'txt.example.com', type: 'TXT', value: long },
      { name: 'ns.example.com', type: 'NS', value: 'ns.example.net' },
      { name: 'caa.example.com', type: 'CAA', value: '0 issue "ca.example; validationmethods=dns-01"' },
    ];
    for (const record of records) expect((await json('POST', record)).status).toBe(201);
    expect(await resolver.resolve6('aaaa.example.com')).toEqual(['2001:db8::1']);
    expect((await resolver.resolveTxt('txt.example.com')).map((strings) => strings.length)).toEqual([3]);
    expect(await resolver.resolveCaa('caa.example.com')).toMatchObject([
      { critical: 0, issue: 'ca.example; validationmethods=dns-01' },
    ]);
    expect(await http('GET', '/records?name=TXT.example.com.')).toMatchObject({
      status: 200,
      body: { records: [{ name: 'txt.example.com', type: 'TXT', value: long, ttl: 5 }], truncated: false },
    });
  });

  it('is 200 for an existing record, and sets its TTL', async () => {
    const { json, http } = await start();
    await json('POST', DELEGATION);
    expect(await json('POST', { ...DELEGATION, ttl: 77 })).toMatchObject({ status: 200, body: { ttl: 77 } });
    expect(await http('GET', `/records?name=${NAME}`)).toMatchObject({ body: { records: [{ ttl: 77 }] } });
  });

  it.each([
    ['a second CNAME', { ...DELEGATION, value: 'other.example.net' }],
    ['data beside a CNAME', { ...DELEGATION, type: 'TXT', value: 'x' }],
    ['a CNAME beside data', { name: 'example.com', type: 'CNAME', value: 'other.example.net' }],
  ])('does not take %s', async (_, record) => {
    const { json } = await start();
    await json('POST', DELEGATION);
    expect(await json('POST', record)).toMatchObject({
      status: 409,
      body: { code: 'conflict', field: 'name' },
    });
  });

  it.each([
    ['no name', { type: 'A', value: '127.0.0.1' }, 'missing_field', 'name'],
    ['a wildcard', { name: '*.example.com', type: 'A', value: '127.0.0.1' }, 'invalid_value', 'name'],
    [
      'a label of 64 bytes',
      { name: 'a'.repeat(64) + '.example.com', type: 'A', value: '127.0.0.1' },
      'invalid_value',
      'name',
    ],
    [
      'a name of another zone',
      { name: 'example.edu', type: 'A', value: '127.0.0.1' },
      'invalid_value',
      'name',
    ],
    ['a number as name', { name: 5, type: 'A', value: '127.0.0.1' }, 'invalid_value', 'name'],
    ['an unsupported type', { name: 'example.com', type: 'SOA', value: 'x' }, 'invalid_value', 'type'],
    [
      'a prototype member as type',
      { name: 'example.com', type: 'toString', value: 'x' },
      'invalid_value',
      'type',
    ],
    ['no value', { name: 'example.com', type: 'A' }, 'missing_field', 'value'],
    ['a name as address', { name: 'example.com', type: 'A', value: 'localhost' }, 'invalid_value', 'value'],
    [
      'an address with a zone',
      { name: 'example.com', type: 'AAAA', value: 'fe80::1%lo' },
      'invalid_value',
      'value',
    ],
    ['a lone surrogate', { name: 'example.com', type: 'TXT', value: '\ud800' }, 'invalid_value', 'value'],
    [
      'too much text',
      { name: 'example.com', type: 'TXT', value: 'x'.repeat(4001) },
      'invalid_value',
      'value',
    ],
    [
      'CAA flags over 255',
      { name: 'example.com', type: 'CAA', value: '256 issue "x"' },
      'invalid_value',
      'value',
    ],
    [
      'a fraction as ttl',
      { name: 'example.com', type: 'A', value: '127.0.0.1', ttl: 0.5 },
      'invalid_value',
      'ttl',
    ],
    [
      'a negative ttl',
      { name: 'example.com', type: 'A', value: '127.0.0.1', ttl: -1 },
      'invalid_value',
      'ttl',
    ],
  ])('says which field is wrong with %s', async (_, body, code, field) => {
    const { json } = await start();
    expect(await json('POST', body)).toMatchObject({
      status: 400,
      body: { code, field, message: expect.stringMatching(/\.$/) },
    });
  });
});

describe('DELETE /records', () => {
  it('removes one record by its value, or all of a type', async () => {
    const { json, resolver } = await start();
    for (const value of ['one', 'two', 'three']) await json('POST', { name: NAME, type: 'TXT', value });
    expect(await json('DELETE', { name: NAME, type: 'TXT', value: 'one' })).toMatchObject({
      status: 200,
      body: { deleted: 1 },
    });
    expect(await json('DELETE', { name: NAME, type: 'TXT' })).toMatchObject({
      status: 200,
      body: { deleted: 2 },
    });
    expect(await json('DELETE', { name: NAME, type: 'TXT' })).toMatchObject({
      status: 200,
      body: { deleted: 0 },
    });
    await expect(resolver.resolveTxt(NAME)).rejects.toMatchObject({ code: 'ENOTFOUND' });
  });

  it('does not remove the last NS of a zone', async () => {
    const { json, resolver } = await start();
    expect(await json('DELETE', { name: 'example.com', type: 'NS' })).toMatchObject({ body: { deleted: 0 } });
    expect(await resolver.resolveNs('example.com')).toEqual(['ns1.example.com']);
  });
});

describe('the control', () => {
  it('is healthy, and lists all records', async () => {
    const { http } = await start();
    expect(await http('GET', '/healthz')).toMatchObject({ status: 200, body: { status: 'ok' } });
    const { body } = await http('GET', '/records');
    expect((body as { records: unknown[] }).records).toHaveLength(12);
  });

  it.each(['evil.test', 'evil.test:4354', '127.0.0.1.evil.test', 'localhost.evil.test', '10.0.0.1', ''])(
    'refuses the Host %p (DNS rebinding)',
    async (host) => {
      const { http } = await start();
      expect(await http('GET', '/records', undefined, { Host: host })).toMatchObject({
        status: 403,
        body: { code: 'unauthorized' },
      });
    },
  );

  it.each(['localhost', 'LOCALHOST:1', '127.0.0.1:4354', '[::1]:4354'])(
    'accepts the Host %s',
    async (host) => {
      const { http } = await start();
      expect((await http('GET', '/healthz', undefined, { Host: host })).status).toBe(200);
    },
  );

  it.each([
    [
      'a form',
      415,
      'unsupported_media_type',
      'name=x',
      { 'Content-Type': 'application/x-www-form-urlencoded' },
    ],
    [
      'text, as a web page may send it',
      415,
      'unsupported_media_type',
      '{}',
      { 'Content-Type': 'text/plain' },
    ],
    ['invalid JSON', 400, 'bad_request', '{', {}],
    ['invalid UTF-8', 400, 'bad_request', Buffer.of(0x22, 0xff, 0x22), {}],
    ['an array', 400, 'bad_request', '[]', {}],
    ['null', 400, 'bad_request', 'null', {}],
    ['a body over 32 KiB', 413, 'request_too_large', JSON.stringify({ name: 'x'.repeat(40_000) }), {}],
  ])('refuses %s with %i', async (_, status, code, body, headers) => {
    const { http } = await start();
    expect(await http('POST', '/records', body, headers as Record<string, string>)).toMatchObject({
      status,
      body: { code },
    });
    expect((await http('GET', '/healthz')).status).toBe(200);
  });

  it('returns JSON for invalid HTTP', async () => {
    const { lines } = await start();
    const { control } = JSON.parse(lines[0] ?? '{}') as { control: string };
    const socket = connect(Number(new URL(control).port), '127.0.0.1');
    socket.end('nonsense\r\n\r\n');
    const [, body] = (await text(socket)).split('\r\n\r\n');
    expect(JSON.parse(body ?? '')).toMatchObject({ code: 'bad_request' });
  });

  it('returns JSON for unknown paths and methods', async () => {
    const { http } = await start();
    expect(await http('GET', '/')).toMatchObject({ status: 404, body: { code: 'not_found' } });
    expect(await http('GET', '/records?name=%ff')).toMatchObject({ status: 400, body: { field: 'name' } });
    expect(await http('PUT', '/records')).toMatchObject({
      status: 405,
      headers: { allow: 'GET, POST, DELETE' },
      body: { code: 'method_not_allowed' },
    });
  });
});

describe('DATA_FILE', () => {
  it('stores records and serial across restarts, also of zones that are not configured now', async () => {
    const DATA_FILE = path.join(await folder(), 'zones.json');
    const first = await start({ DATA_FILE });
    await Promise.all(
      ['a', 'b', 'c', 'd'].map((value) => first.json('POST', { name: NAME, type: 'TXT', value })),
    );
    const { serial } = await first.resolver.resolveSoa('example.com');
    await first.demo.stop();

    const second = await start({ DATA_FILE, DEMO_ZONES: 'example.net' });
    await second.json('POST', { name: 'x.example.net', type: 'A', value: '127.0.0.1' });
    await second.demo.stop();

    const third = await start({ DATA_FILE });
    expect((await third.resolver.resolveTxt(NAME)).flat().sort()).toEqual(['a', 'b', 'c', 'd']);
    expect((await third.resolver.resolveSoa('example.com')).serial).toBe(serial);
    expect(await third.resolver.resolve4('x.example.net')).toEqual(['127.0.0.1']);
    expect(await readdir(path.dirname(DATA_FILE))).toEqual(['zones.json']);
  });

  it.each(['', '{', '{"zones":{}}', '{"format":"certwright-demo-dns-1","zones":{"example.com":[]}}'])(
    'that holds %p is refused by name',
    async (content) => {
      const DATA_FILE = path.join(await folder(), 'zones.json');
      await writeFile(DATA_FILE, content);
      await expect(start({ DATA_FILE })).rejects.toThrow('DATA_FILE');
      expect(await readFile(DATA_FILE, 'utf8')).toBe(content);
    },
  );
});

describe('the process', () => {
  it('has a PID_FILE while it runs', async () => {
    const PID_FILE = path.join(await folder(), 'demo-dns.pid');
    const { demo } = await start({ PID_FILE });
    expect(await readFile(PID_FILE, 'utf8')).toBe(`${process.pid}\n`);
    await demo.stop();
    await expect(readFile(PID_FILE)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('reports the port in use, and does not change the PID_FILE of the other process', async () => {
    const PID_FILE = path.join(await folder(), 'demo-dns.pid');
    const { lines } = await start({ PID_FILE });
    const { dns } = JSON.parse(lines[0] ?? '{}') as { dns: string };
    const config = { ...readConfig({ PID_FILE }), dnsPort: Number(dns.split(':')[1]), controlPort: 0 };
    const second = new DemoDns(config, new JsonLog('error', () => undefined));
    await expect(second.start()).rejects.toMatchObject({ code: 'EADDRINUSE' });
    expect(await readFile(PID_FILE, 'utf8')).toBe(`${process.pid}\n`);
  });

  it('logs one JSON object per line, queries only at level debug', async () => {
    const { resolver, lines } = await start({}, 'debug');
    await resolver.resolve4('example.com');
    const logged = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(logged).toMatchObject([
      { level: 'info', msg: 'listening', zones: 'example.com,example.net,example.org' },
      { level: 'debug', msg: 'dns', name: 'example.com', type: 1, rcode: 0 },
    ]);
  });
});
