import { randomBytes, randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { connect } from 'node:net';
import * as packet from 'dns-packet';
import { RCODE } from '../codes';
import { MemoryZones } from '../memory/memory-zones';
import { type RecordSource } from '../source';
import { askTcp, askUdp, optRecord, queryMessage, rcodeOf, withLength } from '../testing/asking';
import { updateMessage, txtBytes } from '../testing/update-encoding';
import { a, cname, txt, zone } from '../testing/zones';
import { DnsServer, type DnsServerOptions } from './dns-server';

const servers: DnsServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

const big = Array.from({ length: 12 }, (_, n) => txt('big.example.com', `${n}`.padEnd(200, 'x')));

async function serve(options: Partial<DnsServerOptions> = {}) {
  const com = zone(
    'example.com',
    a('www.example.com', '127.0.0.2'),
    cname('alias.example.com', 'www.example.com'),
    ...big,
  );
  const zones = new MemoryZones([com], { updatable: ['example.com'] });
  const server = new DnsServer({ host: '127.0.0.1', port: 0, source: zones, updates: zones, ...options });
  servers.push(server);
  const { port } = await server.listen();
  return { server, port, com };
}

const www = queryMessage('www.example.com', 'A');

/** A source that answers on demand. */
function held() {
  const waiting: (() => void)[] = [];
  let arrived: () => void;
  const asked = new Promise<void>((resolve) => (arrived = resolve));
  const com = zone('example.com', a('www.example.com', '127.0.0.2'));
  const source: RecordSource = {
    read: () =>
      new Promise((resolve) => {
        waiting.push(() => resolve(com));
        arrived();
      }),
  };
  return { source, asked, release: () => waiting.splice(0).forEach((go) => go()) };
}

describe('as an ordinary resolver library sees it', () => {
  it('serves A, CNAME, TXT, NS and SOA, and tells NXDOMAIN from NODATA', async () => {
    const { port } = await serve();
    const resolver = new Resolver({ timeout: 20_000, tries: 1 });
    resolver.setServers([`127.0.0.1:${port}`]);
    expect(await resolver.resolve4('alias.example.com')).toEqual(['127.0.0.2']);
    expect(await resolver.resolveCname('alias.example.com')).toEqual(['www.example.com']);
    expect(await resolver.resolveNs('example.com')).toEqual(['ns1.example.com']);
    expect(await resolver.resolveSoa('example.com')).toMatchObject({ serial: 7, minttl: 30 });
    expect(await resolver.resolveTxt('big.example.com')).toHaveLength(12); // over TCP, after TC
    await expect(resolver.resolve4('no.example.com')).rejects.toMatchObject({ code: 'ENOTFOUND' });
    await expect(resolver.resolveTxt('www.example.com')).rejects.toMatchObject({ code: 'ENODATA' });
    await expect(resolver.resolve4('example.org')).rejects.toMatchObject({ code: 'EREFUSED' });
  });
});

describe('over TCP', () => {
  it('answers several queries on one connection, in their order', async () => {
    const { port } = await serve();
    const queries = ['www', 'alias', 'no', 'www'].map((name, id) =>
      queryMessage(`${name}.example.com`, 'A', { id }),
    );
    const answers = await askTcp(port, withLength(...queries), 4);
    expect(answers.map((message) => packet.decode(message).id)).toEqual([0, 1, 2, 3]);
    expect(answers.map(rcodeOf)).toEqual([0, 0, RCODE.NXDOMAIN, 0]);
  });

  it('waits for a message that arrives in pieces', async () => {
    const { port } = await serve();
    const socket = connect(port, '127.0.0.1').setNoDelay();
    for (const byte of withLength(www)) {
      await new Promise((written) => socket.write(Buffer.of(byte), written));
    }
    const [chunk] = (await once(socket, 'data')) as [Buffer];
    expect(packet.decode(chunk.subarray(2)).answers).toHaveLength(1);
    socket.destroy();
  });

  it('answers an asker that has closed its half', async () => {
    const { port } = await serve();
    const socket = connect(port, '127.0.0.1');
    socket.end(withLength(www));
    const [chunk] = (await once(socket, 'data')) as [Buffer];
    expect(rcodeOf(chunk.subarray(2))).toBe(RCODE.NOERROR);
    await once(socket, 'close');
  });

  it('cuts a connection that is idle, also one that trickles', async () => {
    const { port } = await serve({ limits: { tcpIdleMs: 50 } });
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    const trickle = setInterval(() => socket.write(Buffer.of(0)), 5);
    await new Promise((resolve) => socket.once('close', resolve));
    clearInterval(trickle);
  });

  it('is never shut by those who hold connections open: a new one takes the place of the most silent of the most', async () => {
    const { port } = await serve({ limits: { tcpConnections: 4 } });
    const from = async (localAddress: string) => {
      const socket = connect({ port, host: '127.0.0.1', localAddress });
      const ended = new Promise((resolve) => socket.on('error', () => undefined).on('close', resolve));
      await once(socket, 'connect');
      socket.write(withLength(www));
      await once(socket, 'data');
      return { socket, ended };
    };
    const resolver = await from('127.0.0.9');
    const held = [await from('127.0.0.2'), await from('127.0.0.2'), await from('127.0.0.2')];
    held[0]?.socket.write(withLength(www));
    await once(held[0]?.socket ?? resolver.socket, 'data');
    expect(await askTcp(port, withLength(www), 1)).toHaveLength(1);
    await held[1]?.ended;
    const more = [await from('127.0.0.2'), await from('127.0.0.2'), await from('127.0.0.2')];
    await Promise.all([held[2]?.ended, held[0]?.ended]);
    resolver.socket.write(withLength(www));
    await once(resolver.socket, 'data');
    [resolver, ...held, ...more].forEach(({ socket }) => socket.destroy());
  });

  it.each(['GET', 'POST', 'PUT', 'OPTIONS', 'HEAD', 'DELETE', 'PATCH'])(
    'cuts an HTTP %s, so that no web page can smuggle an update in a body',
    async (method) => {
      const { port, com } = await serve();
      const [first = 0, second = 0] = Buffer.from(method);
      const update = updateMessage({
        updates: [{ name: 'smuggled.example.com', type: 'TXT', content: txtBytes('x') }],
      });
      const request = Buffer.alloc(2 + first * 256 + second, 'x');
      request.write(`${method} / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
      expect(await askTcp(port, Buffer.concat([request, withLength(update)]), 1)).toEqual([]);
      expect(com.recordsAt('smuggled.example.com')).toBeUndefined();
    },
  );
});

describe('under load and at the end', () => {
  it('drops datagrams beyond those it may have under way', async () => {
    const { source, asked, release } = held();
    const { port } = await serve({ source, limits: { udpInFlight: 1 } });
    const first = askUdp(port, www);
    await asked;
    expect(await askUdp(port, www, 50)).toBeUndefined();
    release();
    expect(rcodeOf(await first)).toBe(RCODE.NOERROR);
  });

  it('sends the answers under way before it closes, over UDP and TCP', async () => {
    for (const ask of [askUdp, async (port: number) => (await askTcp(port, withLength(www), 1))[0]]) {
      const { source, asked, release } = held();
      const { port, server } = await serve({ source });
      const answer = ask(port, www);
      await asked;
      const closed = server.close();
      release();
      expect(rcodeOf(await answer)).toBe(RCODE.NOERROR);
      await closed;
    }
  });

  it('closes at once when connections are only idle, and after the grace when an answer hangs', async () => {
    const { source, asked } = held();
    const { port, server } = await serve({ source, limits: { closeGraceMs: 30 } });
    const idle = connect(port, '127.0.0.1');
    const hanging = connect(port, '127.0.0.1');
    hanging.write(withLength(www));
    await asked;
    const cut = Promise.all([once(idle, 'close'), once(hanging, 'close')]);
    await server.close();
    await cut;
    await server.close();
  });

  it('survives an answer that comes after the grace', async () => {
    const { source, asked, release } = held();
    const { port, server } = await serve({ source, limits: { closeGraceMs: 5 } });
    const socket = createSocket('udp4');
    socket.send(www, port, '127.0.0.1');
    await asked;
    await server.close();
    const unhandled: unknown[] = [];
    const note = (error: unknown) => unhandled.push(error);
    process.on('unhandledRejection', note);
    release();
    await new Promise((later) => setImmediate(() => setImmediate(later)));
    process.off('unhandledRejection', note);
    socket.close();
    expect(unhandled).toEqual([]);
  });

  it('frees its port, and says so when a port is taken', async () => {
    const { port, server } = await serve();
    const second = new DnsServer({ host: '127.0.0.1', port, source: { read: () => undefined } });
    await expect(second.listen()).rejects.toMatchObject({ code: 'EADDRINUSE' });
    await server.close();
    servers.push(second);
    expect(await second.listen()).toEqual({ host: '127.0.0.1', port });
  });
});

describe('whatever bytes arrive', () => {
  const seeds = [
    www,
    queryMessage('big.example.com', 'TXT', { additionals: [optRecord(1232)] }),
    updateMessage({ updates: [{ name: 'fuzz.example.com', type: 'TXT', content: txtBytes('a') }] }),
  ];

  function mutated(): Buffer {
    const message = Buffer.from(seeds[randomInt(seeds.length)] ?? www);
    for (let n = randomInt(1, 6); n > 0; n--) message[randomInt(message.length)] = randomInt(256);
    const cut = message.subarray(0, randomInt(4) === 0 ? randomInt(message.length) : message.length);
    return randomInt(5) === 0 ? Buffer.concat([cut, randomBytes(randomInt(40))]) : cut;
  }

  const anything = () => (randomInt(3) === 0 ? randomBytes(randomInt(600)) : mutated());

  it('goes on answering after thousands of mutated datagrams', async () => {
    const errors: unknown[] = [];
    const { port } = await serve({
      onError: (error) => errors.push(error),
      onAnswered: ({ error }) => error !== undefined && errors.push(error),
    });
    const socket = createSocket('udp4');
    for (let round = 0; round < 80; round++) {
      // Few enough at a time that the receive buffer of the socket holds them.
      for (let n = 0; n < 50; n++) socket.send(anything(), port, '127.0.0.1');
      expect(rcodeOf(await askUdp(port, www))).toBe(RCODE.NOERROR);
    }
    socket.close();
    expect(errors).toEqual([]);
  });

  it('goes on answering after thousands of mutated messages on connections', async () => {
    const errors: unknown[] = [];
    const { port } = await serve({ onAnswered: ({ error }) => error !== undefined && errors.push(error) });
    for (let n = 0; n < 60; n++) {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => undefined).resume();
      const messages = Array.from({ length: 50 }, anything);
      // Every third connection breaks the framing too.
      socket.end(n % 3 === 0 ? Buffer.concat(messages) : withLength(...messages));
      await once(socket, 'close');
    }
    const [answer] = await askTcp(port, withLength(www), 1);
    expect(rcodeOf(answer)).toBe(RCODE.NOERROR);
    expect(errors).toEqual([]);
  });
});
