import { inspect } from 'node:util';
import type { DnsRecord, ProviderSession } from '../dns-provider';
import type { ProviderFault } from '../provider-fault';
import { testPorts } from '../testing/test-ports';
import { rfc2136Provider } from './rfc2136';
import { plain, questionOf, secret, signed, withFlags } from './testing/signed-responses';
import { type Said, type Script, scriptedServer, type ScriptedServer } from './testing/scripted-server';

const waitMs = 60_000;
const timeouts = { udpMs: [waitMs, waitMs], tcpMs: waitMs };
const zone = { id: 'example.com', name: 'example.com' };
const record: DnsRecord = { fqdn: '_acme-challenge.example.com', type: 'TXT', value: 'v', ttlS: 60 };

const yes: Script = (request) => signed(request, plain(request));
const never = new AbortController().signal;

// The waits of an exchange end when the spec says so, and not before what the server has sent could be read.
beforeEach(() => jest.useFakeTimers({ doNotFake: [...notFaked] }));
afterEach(() => jest.useRealTimers());
const notFaked = [
  'Date',
  'hrtime',
  'nextTick',
  'performance',
  'queueMicrotask',
  'setImmediate',
  'clearImmediate',
  'setInterval',
  'clearInterval',
] as const;

describe('rfc2136 with a hostile server', () => {
  let server: ScriptedServer;
  afterEach(() => server.close());

  async function opened(script: Script, signal = never): Promise<ProviderSession> {
    server = await scriptedServer(script);
    const kept = {
      server: server.address,
      port: String(server.port),
      key_name: 'gateway-key',
      key_algorithm: 'hmac-sha256',
      key_secret: secret.toString('base64'),
      zones: ['example.com'],
    };
    return rfc2136Provider({ timeouts }).session(kept, 'account-1', testPorts(), signal);
  }
  /** In small steps, so that what keeps coming could make a wait longer. */
  async function waitedOut<T>(exchange: Promise<T>): Promise<T> {
    let isOver = false;
    const outcome = exchange.finally(() => (isOver = true));
    outcome.catch(() => undefined);
    for (let heard = 0; !isOver; await turns(1)) {
      if (server.requests.length === heard) continue;
      heard = server.requests.length;
      for (let step = 0; step <= 10 && !isOver && server.requests.length === heard; step += 1) {
        await turns(10);
        jest.advanceTimersByTime(waitMs / 10);
      }
    }
    return await outcome;
  }
  async function faultOf(script: Script): Promise<ProviderFault> {
    const session = await opened(script);
    const fault: unknown = await waitedOut(session.remove(zone, record)).catch((error: unknown) => error);
    expect(fault).toMatchObject({ name: 'ProviderFault' });
    expect(inspect(fault, { depth: 8 })).not.toContain(secret.toString('base64'));
    return fault as ProviderFault;
  }
  const count = (transport: 'udp' | 'tcp') =>
    server.requests.filter((each) => each.transport === transport).length;

  it('accepts one signed datagram', async () => {
    await (await opened(yes)).remove(zone, record);
    expect(server.requests).toHaveLength(1);
  });

  const differently =
    (change: (bytes: Buffer, request: Buffer) => Buffer): Script =>
    (request) =>
      change(signed(request, plain(request)), request);
  it.each<[string, Script, RegExp]>([
    ['unsigned', (request) => plain(request), /not signed/],
    ['signed with another secret', (r) => signed(r, plain(r), { secret: Buffer.alloc(32) }), /does not hold/],
    [
      'signed with another key',
      (r) => signed(r, plain(r), { name: Buffer.from('\x05other\x00') }),
      /another key/,
    ],
    [
      'signed for another request',
      (r) => signed(r, plain(r), { requestMac: Buffer.alloc(32) }),
      /does not hold/,
    ],
    ['signed an hour ago', (r) => signed(r, plain(r), { timeS: Date.now() / 1000 - 3600 }), /not now/],
    ['signed in half', (r) => signed(r, plain(r), { macBytes: 16 }), /does not hold/],
    ['BADTIME without a signature', (r) => signed(r, plain(r), { error: 18, macBytes: 0 }), /not signed/],
    [
      'to another id',
      differently((bytes) => Buffer.concat([Buffer.of(1, 2), bytes.subarray(2)])),
      /something else/,
    ],
    ['to another question', (r) => signed(r, plain(questionOf(r, 'X'))), /something else/],
    ['with another opcode', (r) => signed(r, withFlags(plain(r), 0x8000)), /something else/],
    ['a request', (r) => signed(r, withFlags(plain(r), 0x2800)), /no DNS message/],
    ['cut', differently((bytes) => bytes.subarray(0, bytes.length - 7)), /no DNS message/],
    ['followed by bytes', differently((bytes) => Buffer.concat([bytes, Buffer.alloc(9)])), /no DNS message/],
    ['three bytes', () => Buffer.alloc(3), /no DNS message/],
    ['a flood of zeros', () => Buffer.alloc(4_000), /something else|no DNS message/],
  ])('a response that is %s is ignored, and the wait continues', async (_, script, message) => {
    const fault = await faultOf(script);
    expect(fault.kind).toBe('unavailable');
    expect(fault.message).toMatch(message);
    // Sent twice and then over TCP, because the real response could still have arrived.
    expect([count('udp'), count('tcp')]).toEqual([2, 1]);
  });

  it('an unsigned REFUSED, without a better response, is zone_not_found', async () => {
    expect((await faultOf((request) => plain(request, 5))).kind).toBe('zone_not_found');
    expect([count('udp'), count('tcp')]).toEqual([2, 1]);
  });

  it('a forged answer does not block the real one', async () => {
    const session = await opened((request, _, at) =>
      at === 0 ? plain(request, 5) : yes(request, 'udp', at),
    );
    await waitedOut(session.remove(zone, record));
    expect(server.requests).toHaveLength(2);
  });

  it.each<[string, number, RegExp]>([
    ['BADSIG', 16, /another secret/],
    ['BADKEY', 17, /does not know the key/],
    ['BADTRUNC', 22, /full length/],
  ])('%s without a signature is auth_failed at once', async (_, error, message) => {
    const fault = await faultOf((request) => signed(request, plain(request, 9), { error, macBytes: 0 }));
    expect(fault.kind).toBe('auth_failed');
    expect(fault.message).toMatch(message);
    expect(server.requests).toHaveLength(1);
  });

  it('a signed BADTIME is auth_failed', async () => {
    const fault = await faultOf((request) => signed(request, plain(request, 9), { error: 18, timeS: 1_000 }));
    expect(fault).toMatchObject({ kind: 'auth_failed', message: expect.stringContaining('clock') });
  });

  it.each<[number, string]>([
    [1, 'rejected'],
    [3, 'conflict'],
    [4, 'rejected'],
    [5, 'auth_failed'],
    [6, 'conflict'],
    [7, 'conflict'],
    [8, 'conflict'],
    [9, 'zone_not_found'],
    [10, 'zone_not_found'],
    [11, 'rejected'],
  ])('the response code %i is %s', async (rcode, kind) => {
    expect((await faultOf((request) => signed(request, plain(request, rcode)))).kind).toBe(kind);
  });

  it('SERVFAIL is attempted three times with new ids, and then unavailable for a while', async () => {
    const fault = await faultOf((request) => signed(request, plain(request, 2)));
    expect(fault).toMatchObject({ kind: 'unavailable', retryAfterS: 10 });
    expect(new Set(server.requests.map(({ message }) => message.readUInt16BE(0))).size).toBe(3);
  });

  it('a signed answer with a malformed record is unavailable', async () => {
    // A character-string of nine bytes in a TXT record of two.
    const malformed = Buffer.from('c00c00100001000000000002' + '0941', 'hex');
    const session = await opened((request) => {
      const answer = Buffer.concat([plain(request), malformed]);
      answer.writeUInt16BE(1, 6);
      return signed(request, answer);
    });
    await expect(session.add(zone, record)).rejects.toMatchObject({ kind: 'unavailable' });
  });

  it('a single SERVFAIL is not an error', async () => {
    const session = await opened((request, _, at) => signed(request, plain(request, at === 0 ? 2 : 0)));
    await session.remove(zone, record);
  });

  it('a truncated answer is requested again over TCP', async () => {
    const session = await opened((request, transport) =>
      signed(request, plain(request, 0, transport === 'udp' ? 0x0200 : 0)),
    );
    await session.remove(zone, record);
    expect([count('udp'), count('tcp')]).toEqual([1, 1]);
  });

  it('an answer that is truncated over TCP too is ignored', async () => {
    expect((await faultOf((request) => signed(request, plain(request, 0, 0x0200)))).kind).toBe('unavailable');
  });

  it('a message over 512 bytes is sent only over TCP', async () => {
    const session = await opened(yes);
    await session.remove(zone, { ...record, value: 'x'.repeat(512) });
    expect([count('udp'), count('tcp')]).toEqual([0, 1]);
  });

  const endless = (chunk: Buffer): Said => ({
    stream: (socket) => {
      const write = (): void => void (socket.writable && socket.write(chunk) && setImmediate(write));
      socket.on('drain', write);
      write();
    },
  });
  it.each<[string, (request: Buffer) => Said]>([
    ['says nothing', () => null],
    ['announces more than it sends, byte by byte', () => endless(Buffer.of(0xff))],
    ['sends without end', () => endless(Buffer.alloc(65_536))],
    ['closes at once', () => ({ stream: (socket) => socket.destroy() })],
    ['closes after half of it', () => ({ stream: (socket) => socket.end(Buffer.from('00ff8000', 'hex')) })],
  ])('over TCP, an answer that %s times out', async (_, say) => {
    const fault = await faultOf((request, transport) => (transport === 'udp' ? null : say(request)));
    expect(fault.kind).toBe('unavailable');
    expect([count('udp'), count('tcp')]).toEqual([2, 1]);
  });

  it('ends with the signal, whatever the server does', async () => {
    const ending = new AbortController();
    const session = await opened(() => {
      setImmediate(() => ending.abort(new Error('enough')));
      return null;
    }, ending.signal);
    await expect(session.remove(zone, record)).rejects.toThrow('enough');
  });

  it('ids and ports are unpredictable', async () => {
    const session = await opened(yes);
    for (let at = 0; at < 20; at++) await session.remove(zone, record);
    const ids = server.requests.map(({ message }) => message.readUInt16BE(0));
    expect(new Set(ids).size).toBeGreaterThan(15);
    const steps = ids.slice(1).map((id, at) => id - Number(ids[at]));
    expect(new Set(steps).size).toBeGreaterThan(15);
  });
});

/** What has arrived by the end of them has been read: loopback delivers at once. */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
}
