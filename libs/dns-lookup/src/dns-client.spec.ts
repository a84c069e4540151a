import { createSocket, type RemoteInfo } from 'node:dgram';
import { getEventListeners } from 'node:events';
import { createServer } from 'node:net';
import { DnsServer, MemoryZone, MemoryZones, type ZoneRecord } from '@certwright/dns-authority';
import * as packet from 'dns-packet';
import { DnsClient, type DnsClientOptions } from './dns-client';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

function client(port: number, options: Partial<DnsClientOptions> = {}): DnsClient {
  const made = new DnsClient({ server: { host: '127.0.0.1', port }, timeoutMs: 20_000, ...options });
  closers.push(() => made.close());
  return made;
}

/** Our own authoritative server, with one zone. */
async function authority() {
  const soa = {
    mname: 'ns1.example.com',
    rname: 'hostmaster.example.com',
    serial: 1,
    refresh: 1,
    retry: 1,
    expire: 1,
    minimum: 1,
  };
  const big = Array.from({ length: 20 }, (_, n): ZoneRecord => {
    return { name: 'big.example.com', type: 'TXT', ttl: 5, data: [Buffer.from(`${n}`.padEnd(200, 'x'))] };
  });
  const zone = new MemoryZone('example.com', [
    { name: 'example.com', type: 'SOA', ttl: 5, data: soa },
    { name: 'www.example.com', type: 'A', ttl: 5, data: '127.0.0.7' },
    { name: 'alias.example.com', type: 'CNAME', ttl: 5, data: 'www.example.com' },
    { name: 'sub.example.com', type: 'NS', ttl: 5, data: 'ns.elsewhere.test' },
    ...big,
  ]);
  const server = new DnsServer({ host: '127.0.0.1', port: 0, source: new MemoryZones([zone]) });
  closers.push(() => server.close());
  return (await server.listen()).port;
}

type Behaviour = (query: Buffer, reply: (message: Buffer) => void, from: RemoteInfo) => void;

/** A server whose responses each test defines. */
async function scripted(behaviour: Behaviour) {
  const socket = createSocket('udp4');
  const queries: Buffer[] = [];
  socket.on('message', (query, from) => {
    queries.push(query);
    behaviour(query, (message) => socket.send(message, from.port, from.address), from);
  });
  await new Promise<void>((bound) => socket.bind(0, '127.0.0.1', bound));
  closers.push(() => new Promise<void>((closed) => socket.close(closed)));
  return { port: socket.address().port, queries };
}

const ANSWER = '127.0.0.7';

/** The correct response, before a test corrupts it. */
function response(query: Buffer, more: Partial<packet.Packet> = {}): Buffer {
  const { id, questions } = packet.decode(query);
  const name = questions?.[0]?.name ?? '';
  return packet.encode({
    type: 'response',
    id,
    flags: packet.RECURSION_DESIRED,
    questions,
    answers: [{ name, type: 'A', ttl: 1, data: ANSWER }],
    ...more,
  });
}

const failure = (reason: string) => expect.objectContaining({ kind: 'failure', reason });
const found = expect.objectContaining({
  kind: 'records',
  answers: [expect.objectContaining({ name: 'www.example.com', data: ANSWER })],
});
const spoilt = (query: Buffer, at: number, value: number) => {
  const message = response(query);
  message[at] = value;
  return message;
};

describe('without recursion', () => {
  it('requests no recursion, and distinguishes authoritative responses', async () => {
    let flags = packet.AUTHORITATIVE_ANSWER;
    const { port, queries } = await scripted((query, reply) => reply(response(query, { flags })));
    const { lookUp } = client(port, { recursion: false });
    expect(await lookUp('www.example.com', 'A')).not.toHaveProperty('notAuthoritative');
    flags = 0;
    expect(await lookUp('www.example.com', 'A')).toHaveProperty('notAuthoritative', true);
    expect(await client(port).lookUp('www.example.com', 'A')).not.toHaveProperty('notAuthoritative');
    expect(queries.map((query) => query.readUInt16BE(2) & packet.RECURSION_DESIRED)).toEqual([0, 0, 256]);
  });
});

describe('the result of a look-up', () => {
  it('has the records, their names in normal form, and the server', async () => {
    const port = await authority();
    expect(await client(port).lookUp('WWW.Example.com.', 'A')).toMatchObject({
      kind: 'records',
      from: `127.0.0.1:${port}`,
      answers: [{ name: 'www.example.com', type: 'A', ttl: 5, data: '127.0.0.7' }],
    });
    expect(await client(port).lookUp('alias.example.com', 'A')).toMatchObject({
      answers: [{ type: 'CNAME', data: 'www.example.com' }, { type: 'A' }],
    });
  });

  it('distinguishes NXDOMAIN, NODATA, a referral and REFUSED', async () => {
    const { lookUp } = client(await authority());
    expect(await lookUp('no.example.com', 'A')).toMatchObject({ kind: 'nxdomain' });
    expect(await lookUp('www.example.com', 'TXT')).toMatchObject({ kind: 'nodata' });
    expect(await lookUp('x.sub.example.com', 'A')).toMatchObject({
      kind: 'records',
      answers: [],
      authority: [{ name: 'sub.example.com', type: 'NS', data: 'ns.elsewhere.test' }],
    });
    expect(await lookUp('example.org', 'A')).toEqual(failure('refused'));
  });

  it('comes over TCP when the response does not fit a datagram, within the byte limit', async () => {
    const port = await authority();
    const result = await client(port).lookUp('big.example.com', 'TXT');
    expect(result.kind === 'records' && result.answers).toHaveLength(20);
    const small = client(port, { maxResponseBytes: 1_000 });
    expect(await small.lookUp('big.example.com', 'TXT')).toEqual(failure('too_large'));
  });

  it.each(['', '.', 'a..b', 'a'.repeat(64) + '.example.com', 'a b.example.com'])(
    'is invalid_name for %p, which is not sent',
    async (name) => {
      const { port, queries } = await scripted(() => undefined);
      expect(await client(port).lookUp(name, 'A')).toEqual(failure('invalid_name'));
      expect(queries).toEqual([]);
    },
  );
});

it('distinguishes a dot inside a label from a dot between labels', async () => {
  const { port } = await scripted((query, reply) => {
    const message = response(query, { answers: [{ name: 'www.example.com', type: 'CNAME', data: 'a.b' }] });
    message[message.length - 5] = 3;
    message[message.length - 3] = 0x2e;
    reply(message);
  });
  expect(await client(port).lookUp('www.example.com', 'CNAME')).toMatchObject({
    answers: [{ data: 'a\\046b' }],
  });
});

describe('accepts only the response to its own query', () => {
  it.each<[string, (query: Buffer) => Buffer]>([
    ['another id', (query) => spoilt(query, 0, query.readUInt8(0) ^ 1)],
    ['a query', (query) => spoilt(query, 2, 0x01)],
    ['another name', (query) => spoilt(query, 13, 0x2d)],
    ['another type', (query) => spoilt(query, 12 + 17 + 1, 16)],
    ['no question but records', (query) => response(query, { questions: [] })],
    ['NXDOMAIN without the question', (query) => response(query, { flags: 3, questions: [], answers: [] })],
    ['a header cut short', (query) => response(query).subarray(0, 11)],
    ['one byte', () => Buffer.of(1)],
  ])('not %s', async (_, forge) => {
    const { port } = await scripted((query, reply) => {
      reply(forge(query));
      reply(response(query));
    });
    expect(await client(port).lookUp('www.example.com', 'A')).toEqual(found);
  });

  it('not from another address', async () => {
    const stranger = createSocket('udp4');
    closers.push(() => stranger.close());
    const { port } = await scripted((query, reply, from) => {
      const forged = response(query, { answers: [] });
      stranger.send(forged, from.port, from.address, () => reply(response(query)));
    });
    expect(await client(port).lookUp('www.example.com', 'A')).toEqual(found);
  });

  it('uses random ids, in mixed case, from several ports that change', async () => {
    const ports = new Set<number>();
    const { port, queries } = await scripted((query, reply, from) => {
      ports.add(from.port);
      reply(response(query));
    });
    const { lookUp } = client(port);
    for (let n = 0; n < 300; n++) await lookUp('www.example.com', 'A');
    const names = queries.map((query) => query.toString('latin1', 13, 28));
    expect(new Set(names).size).toBeGreaterThan(200);
    expect(new Set(queries.map((query) => query.readUInt16BE(0))).size).toBeGreaterThan(250);
    expect(ports.size).toBeGreaterThan(4);
  });
});

describe('the second attempt, in lower case and without EDNS', () => {
  const timeoutMs = 60_000;
  beforeEach(() =>
    jest.useFakeTimers({ doNotFake: ['nextTick', 'performance', 'queueMicrotask', 'setImmediate'] }),
  );
  afterEach(() => jest.useRealTimers());
  /** Longer than a first attempt waits. */
  const waitInVain = () => jest.advanceTimersByTime(timeoutMs / 2);

  const isPlain = (query: Buffer) => packet.decode(query).additionals?.length === 0;
  const lower = (query: Buffer) => response(query, { questions: [{ name: 'www.example.com', type: 'A' }] });

  it.each<[string, Behaviour]>([
    ['loses the first datagram', (query, reply) => (isPlain(query) ? reply(response(query)) : waitInVain())],
    ['responds in lower case', (query, reply) => reply(lower(query))],
    [
      'does not know EDNS',
      (query, reply) => reply(isPlain(query) ? response(query) : response(query, { flags: 1, answers: [] })),
    ],
    [
      'sends back a bare FORMERR',
      (query, reply) =>
        reply(isPlain(query) ? response(query) : response(query, { flags: 1, questions: [], answers: [] })),
    ],
  ])('helps with a server that %s', async (_, behaviour) => {
    const { port, queries } = await scripted(behaviour);
    expect(await client(port, { timeoutMs }).lookUp('www.example.com', 'A')).toEqual(found);
    expect(queries).toHaveLength(2);
    expect(queries[1]?.toString('latin1', 13, 16)).toBe('www');
  });

  it('is the last', async () => {
    const { port, queries } = await scripted(() => void jest.advanceTimersByTime(timeoutMs));
    expect(await client(port, { timeoutMs }).lookUp('www.example.com', 'A')).toEqual(failure('timeout'));
    expect(queries).toHaveLength(2);
  });
});

describe('failures are results', () => {
  it.each([
    ['servfail', 2],
    ['notimp', 4],
    ['refused', 5],
    ['other_rcode', 9],
  ])('%s', async (reason, flags) => {
    const { port } = await scripted((query, reply) => reply(response(query, { flags, answers: [] })));
    expect(await client(port).lookUp('www.example.com', 'A')).toEqual(failure(reason));
  });

  it.each<[string, (query: Buffer) => Buffer]>([
    ['more records announced than there are', (query) => spoilt(query, 6, 0xff)],
    ['a record that is cut', (query) => response(query).subarray(0, -3)],
    ['an owner that points nowhere', (query) => spoilt(query, 33, 0xc0)],
    ['an address of three bytes', (query) => spoilt(query, response(query).length - 5, 3)],
    ['bytes after the end', (query) => Buffer.concat([response(query), Buffer.of(0)])],
  ])('malformed: %s', async (_, spoil) => {
    const { port } = await scripted((query, reply) => reply(spoil(query)));
    expect(await client(port).lookUp('www.example.com', 'A')).toEqual(failure('malformed'));
  });

  it('not: a CAA value of any bytes (RFC 8659 section 4.1)', async () => {
    const data = { flags: 0, tag: 'iodef', value: 'mailto:hä@example.com' } as const;
    const { port } = await scripted((query, reply) =>
      reply(response(query, { answers: [{ name: 'example.com', type: 'CAA', ttl: 1, data }] })),
    );
    const { value } = data;
    expect(await client(port).lookUp('example.com', 'CAA')).toMatchObject({
      kind: 'records',
      answers: [{ data: { tag: 'iodef', value: Buffer.from(value).toString('latin1') } }],
    });
  });

  it('unreachable, at once, when nothing listens there', async () => {
    const socket = createSocket('udp4');
    await new Promise<void>((bound) => socket.bind(0, '127.0.0.1', bound));
    const { port } = socket.address();
    await new Promise<void>((closed) => socket.close(closed));
    const dns = client(port, { timeoutMs: 60_000 });
    expect(await dns.lookUp('www.example.com', 'A')).toEqual(failure('unreachable'));
    expect(await dns.lookUp('www.example.com', 'A')).toEqual(failure('unreachable'));
  });

  it('unreachable, at once, when the system cannot send there, as to IPv6 without a route', async () => {
    const unhandled = jest.fn();
    process.on('unhandledRejection', unhandled);
    closers.push(() => process.off('unhandledRejection', unhandled));
    // Only broadcast sockets may send there.
    const dns = client(53, { server: { host: '255.255.255.255', port: 53 }, timeoutMs: 2_000 });
    expect(await dns.lookUp('www.example.com', 'A')).toEqual(failure('unreachable'));
    expect(unhandled).not.toHaveBeenCalled();
  });

  it('aborted, by the signal, by closing, and from the start', async () => {
    let onQuery = () => undefined as void;
    const { port } = await scripted(() => onQuery());
    const arrived = () => new Promise<void>((resolve) => (onQuery = resolve));
    const dns = client(port, { timeoutMs: 60_000 });

    const controller = new AbortController();
    let arrival = arrived();
    const first = dns.lookUp('www.example.com', 'A', { signal: controller.signal });
    await arrival;
    controller.abort();
    expect(await first).toEqual(failure('aborted'));
    expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
    expect(await dns.lookUp('www.example.com', 'A', { signal: controller.signal })).toEqual(
      failure('aborted'),
    );

    arrival = arrived();
    const second = dns.lookUp('www.example.com', 'A');
    await arrival;
    dns.close();
    expect(await second).toEqual(failure('aborted'));
    expect(await dns.lookUp('www.example.com', 'A')).toEqual(failure('aborted'));
  });

  it('a TCP server that hangs, lies about the length, or is not there', async () => {
    const behaviours: [string, ((query: Buffer) => Buffer | undefined) | undefined][] = [
      ['timeout', () => undefined],
      ['malformed', () => Buffer.of(0, 1, 7)],
      ['too_large', () => Buffer.of(0xff, 0xff)],
      ['unreachable', undefined],
    ];
    for (const [reason, behaviour] of behaviours) {
      const port = await truncating(behaviour);
      const timeoutMs = reason === 'timeout' ? 200 : 10_000;
      const result = await client(port, { timeoutMs }).lookUp('www.example.com', 'A');
      expect(result).toEqual(failure(reason));
    }
  });
});

/** A server whose UDP responses are truncated. @param behaviour over TCP; undefined: nothing listens there */
async function truncating(behaviour: ((query: Buffer) => Buffer | undefined) | undefined): Promise<number> {
  for (;;) {
    const { port } = await scripted((query, reply) =>
      reply(response(query, { flags: packet.TRUNCATED_RESPONSE, answers: [] })),
    );
    if (behaviour === undefined) return port;
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.on('data', (query) => {
        const reply = behaviour(query);
        if (reply !== undefined) socket.end(reply);
      });
    });
    // A port that is free for UDP may be in use for TCP.
    const isListening = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!isListening) continue;
    closers.push(() => server.close());
    return port;
  }
}

it('leaves no listener on a signal that outlives many look-ups', async () => {
  const { lookUp } = client(await authority());
  const { signal } = new AbortController();
  await Promise.all(Array.from({ length: 200 }, () => lookUp('www.example.com', 'A', { signal })));
  await lookUp('big.example.com', 'TXT', { signal });
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});
