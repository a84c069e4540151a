import { eventually } from '@certwright/testing';
import { createServer as createTlsServer } from 'node:tls';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { readFileSync } from 'node:fs';
import { AddressGuard } from '../addresses/address-guard';
import { OutboundFault } from '../outbound-fault';
import { CertificateTree, type Certified } from '../testing/certificate-tree';
import { type OpensslServer, opensslServer } from '../testing/openssl-server';
import { serveBytes, serveHttps, type WebServer } from '../testing/web-server';
import { cipherSuites } from './cipher-suites';
import { type CertificateViewing, type Presentation, presentedCertificates } from './presented-certificates';

const guard = new AddressGuard({ allowedNetworks: ['127.0.0.0/8', '::1/128'] });
// Each test starts a program or two, and machines may be busy.
jest.setTimeout(60_000);
let tree: CertificateTree;
let root: Certified;
let otherRoot: Certified;
let intermediate: Certified;
let crossed: Certified;
let stranger: Certified;
let leaf: Certified;
beforeAll(() => {
  tree = new CertificateTree();
  root = tree.root('root');
  otherRoot = tree.root('other-root');
  stranger = tree.root('stranger', 'rsa2048');
  intermediate = tree.certify('intermediate', root);
  crossed = tree.certify('intermediate', otherRoot, { sameKeyAs: intermediate });
  leaf = tree.certify('www.example.com', intermediate);
}, 60_000);
const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});
afterAll(() => tree.dispose());

const look = (port: number, more: Partial<CertificateViewing> = {}): Promise<Presentation> =>
  presentedCertificates(guard, {
    address: '127.0.0.1',
    port,
    serverName: 'www.example.com',
    headRequest: null,
    timeoutMs: 20_000,
    maxBytes: 65_536,
    ...more,
  });
const view = async (port: number, more: Partial<CertificateViewing> = {}): Promise<readonly Buffer[]> =>
  (await look(port, more)).certificates;
async function names(port: number, known = [root, otherRoot, intermediate, crossed, stranger, leaf]) {
  const presented = await view(port);
  return presented.map((der) => known.find((each) => each.der.equals(der)) ?? 'unknown');
}
async function faultOf(viewing: Promise<unknown>): Promise<OutboundFault> {
  const outcome: unknown = await viewing.catch((error: unknown) => error);
  if (outcome instanceof OutboundFault) return outcome;
  throw new Error(`no fault but ${String(outcome)}`);
}
async function serve(chain: readonly Certified[], ...options: readonly string[]): Promise<OpensslServer> {
  return await serveLeaf(leaf, chain, ...options);
}
async function serveLeaf(
  which: Certified,
  chain: readonly Certified[],
  ...options: readonly string[]
): Promise<OpensslServer> {
  const server = await opensslServer(tree, which, chain, ...options);
  undo.push(() => server.stop());
  return server;
}
async function startServer(onConnection: (socket: Socket) => void): Promise<WebServer> {
  const server = await serveBytes(onConnection);
  undo.push(() => server.close());
  return server;
}

/** What OpenSSL chooses for the keys here. */
const choices: Readonly<Record<string, Omit<Presentation, 'certificates' | 'httpStatus'>>> = {
  '-tls1': { version: 'TLSv1', cipher: 'TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA' },
  '-tls1_1': { version: 'TLSv1.1', cipher: 'TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA' },
  '-tls1_2': { version: 'TLSv1.2', cipher: 'TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384' },
  '-tls1_3': { version: 'TLSv1.3', cipher: 'TLS_AES_256_GCM_SHA384' },
};
/** SHA-1 and such keys need security level 0. */
const weakest = ['-cipher', 'DEFAULT:@SECLEVEL=0'];

describe.each(['-tls1_2', '-tls1_3'])('what a server presents (%s)', (version) => {
  it.each([
    ['its leaf alone', () => []],
    ['the chain in order', () => [intermediate]],
    ['the chain with its root', () => [intermediate, root]],
    ['the chain in the wrong order', () => [root, intermediate]],
    ['certificates that belong to nothing, in front and behind', () => [stranger, intermediate, stranger]],
    ['two certificates for one intermediate', () => [crossed, otherRoot, intermediate, root]],
    ['only what belongs to nothing', () => [stranger]],
  ])('is seen exactly: %s', async (_what, chain) => {
    const { port } = await serve(chain(), version);
    expect(await names(port)).toEqual([leaf, ...chain()]);
  });

  it.each(['rsa2048', 'rsa1024', 'p384', 'ed25519'] as const)('is seen with a key of %s', async (key) => {
    const other = tree.certify(`leaf-${key}`, root, { key });
    const { port } = await serveLeaf(other, [], version, ...weakest);
    expect(await names(port, [other])).toEqual([other]);
  });

  it('is seen though the server demands a client certificate', async () => {
    const demanding = ['-Verify', '1', '-verify_return_error'];
    const { port } = await serve([intermediate], version, ...demanding);
    expect(await look(port, { headRequest: {} })).toEqual({
      ...choices[version],
      certificates: [leaf.der, intermediate.der],
      httpStatus: null,
    });
  });

  it('is seen over many records, and not at all beyond the bound of bytes', async () => {
    const chain = Array.from({ length: 60 }, () => stranger);
    const { port } = await serve(chain, version);
    expect(await names(port)).toHaveLength(61);
    expect(await faultOf(view(port, { maxBytes: 20_000 }))).toMatchObject({ kind: 'too_large' });
  });
});

it.each(['-tls1', '-tls1_1'])('is seen over a version that browsers refuse (%s)', async (version) => {
  const key = tree.certify('leaf-old', intermediate, { key: 'rsa1024' });
  for (const demand of [[], ['-Verify', '1', '-verify_return_error']]) {
    const { port } = await serveLeaf(key, [intermediate], version, ...weakest, ...demand);
    expect(await look(port)).toEqual({
      ...choices[version],
      certificates: [key.der, intermediate.der],
      httpStatus: null,
    });
  }
});

it('offers no cipher suite without a name', async () => {
  const hellos: Buffer[] = [];
  const server = await startServer((socket) =>
    socket.once('data', (chunk: Buffer) => {
      hellos.push(chunk);
      socket.destroy();
    }),
  );
  await faultOf(view(server.port));
  const [hello = Buffer.of()] = hellos;
  // Headers of the record and the message, legacy_version and random; then the session id (RFC 8446 §4.1.2).
  const at = 5 + 4 + 2 + 32 + 1 + (hello[5 + 4 + 2 + 32] ?? 0);
  const suites = Array.from({ length: hello.readUInt16BE(at) / 2 }, (_, nth) =>
    hello.readUInt16BE(at + 2 + 2 * nth),
  );
  // RFC 5746 §3.3: TLS_EMPTY_RENEGOTIATION_INFO_SCSV is a signal and never chosen.
  expect(suites.filter((suite) => suite !== 0x00ff).sort()).toEqual([...cipherSuites.keys()].sort());
});

function recordTypes(bytes: Buffer): number[] {
  const types: number[] = [];
  for (let at = 0; at < bytes.length; at += 5 + bytes.readUInt16BE(at + 3)) types.push(bytes.readUInt8(at));
  return types;
}

describe('a handshake', () => {
  it.each([['TLS_AES_128_GCM_SHA256'], ['TLS_AES_256_GCM_SHA384'], ['TLS_CHACHA20_POLY1305_SHA256']])(
    'is read along with %s',
    async (suite) => {
      const { port } = await serve([intermediate], '-tls1_3', '-ciphersuites', suite);
      expect(await names(port)).toEqual([leaf, intermediate]);
    },
  );

  it('is read when the server requests another key share', async () => {
    const { port } = await serve([intermediate], '-tls1_3', '-groups', 'P-384');
    expect(await names(port)).toEqual([leaf, intermediate]);
  });

  it('requests the server name', async () => {
    const { port } = await serve(
      [],
      ...['-servername', 'www.example.com', '-servername_fatal'],
      ...['-cert2', leaf.certificateFile, '-key2', leaf.keyFile],
    );
    expect(await names(port)).toEqual([leaf]);
    expect(await faultOf(view(port, { serverName: 'else.example.com' }))).toMatchObject({
      kind: 'tls',
      message: `127.0.0.1 port ${port} refused the handshake: it does not know the requested name (unrecognized_name).`,
    });
  });

  it('goes to an IPv6 address too', async () => {
    const server = createTlsServer({
      key: readFileSync(leaf.keyFile),
      cert: readFileSync(leaf.certificateFile),
    });
    await new Promise<void>((resolve) => server.listen(0, '::1', resolve));
    undo.push(() => server.close());
    const { port } = server.address() as AddressInfo;
    expect(await view(port, { address: '0:0::1' })).toEqual([leaf.der]);
  });

  it('is completed and closed properly', async () => {
    const server = await serve([], '-tls1_2');
    const sent: Buffer[] = [];
    const between = await startServer((socket) => {
      const behind = connect(server.port, '127.0.0.1');
      behind.on('error', () => undefined).pipe(socket);
      socket.on('data', (chunk: Buffer) => sent.push(chunk)).pipe(behind);
    });
    await view(between.port);
    await eventually(() => expect(between.connections.open).toBe(0));
    // Client hello, key exchange, change of ciphers, finished; and an alert, which closes.
    expect(recordTypes(Buffer.concat(sent))).toEqual([22, 22, 20, 22, 21]);
  });

  it.each(['TLSv1.2', 'TLSv1.3'] as const)(
    'may be cut right after it by the server (%s)',
    async (version) => {
      const server = createTlsServer({
        key: readFileSync(leaf.keyFile),
        cert: readFileSync(leaf.certificateFile),
        minVersion: version,
        maxVersion: version,
      });
      server.on('secureConnection', (socket) => socket.destroy());
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      undo.push(() => server.close());
      expect(await view((server.address() as AddressInfo).port)).toEqual([leaf.der]);
    },
  );

  it('with a server that has not the private key of what it presents does not count', async () => {
    const signer = tree.root('signer', 'rsa2048');
    const [own, foreign] = ['alpha', 'gamma'].map((name) => tree.certify(name, signer));
    if (own === undefined || foreign === undefined) throw new Error('no certificates');
    expect(own.der.length).toBe(foreign.der.length);
    const honest = await serveLeaf(own, [], '-tls1_2');
    const impostor = await startServer((socket) => {
      const behind = connect(honest.port, '127.0.0.1');
      behind.on('error', () => undefined);
      socket.pipe(behind);
      behind.on('data', (chunk: Buffer) => {
        const at = chunk.indexOf(own.der);
        if (at >= 0) foreign.der.copy(chunk, at);
        socket.write(chunk);
      });
    });
    expect(await faultOf(view(impostor.port))).toMatchObject({
      kind: 'tls',
      message: `127.0.0.1 port ${impostor.port} presents a certificate, but apparently has the private key of another one.`,
    });
  });
});

describe('a request after the handshake', () => {
  it.each([301, 204])('gets the status %d', async (httpStatus) => {
    const requests: string[] = [];
    const server = await serveHttps(
      { key: readFileSync(leaf.keyFile, 'utf8'), certificate: readFileSync(leaf.certificateFile, 'utf8') },
      ({ method, url, headers }, response) => {
        requests.push(`${method} ${url} ${headers.host} ${headers['user-agent']}`);
        response.writeHead(httpStatus, { location: '/' }).end();
      },
    );
    undo.push(() => server.close());
    const headRequest = { 'user-agent': 'spec' };
    expect(await look(server.port, { headRequest })).toMatchObject({ httpStatus, certificates: [leaf.der] });
    expect(await look(server.port, { headRequest, serverName: null })).toMatchObject({ httpStatus });
    expect(requests).toEqual([
      `HEAD / www.example.com:${server.port} spec`,
      `HEAD / 127.0.0.1:${server.port} spec`,
    ]);
    await eventually(() => expect(server.connections.open).toBe(0));
  });

  it.each<[string, (socket: Socket) => void]>([
    ['no HTTP', (socket) => socket.resume().end('220 secret ESMTP\r\n')],
    ['a reset', (socket) => socket.destroy()],
    ['no response in time', (socket) => void socket.resume()],
    [
      'endless headers',
      (socket) => {
        socket.resume().write('HTTP/1.1 200 OK\r\n');
        const more = (): void => void (socket.writable && socket.write(`a: ${'b'.repeat(5_000)}\r\n`, more));
        more();
      },
    ],
  ])('has no status with %s', async (_what, respond) => {
    const server = createTlsServer({
      key: readFileSync(leaf.keyFile),
      cert: readFileSync(leaf.certificateFile),
    });
    const open = new Set<Socket>();
    server.on('secureConnection', (socket) => {
      open.add(socket);
      respond(socket.on('error', () => undefined).on('close', () => open.delete(socket)));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    undo.push(() => server.close());
    const { port } = server.address() as AddressInfo;
    expect(await look(port, { headRequest: {}, timeoutMs: 3_000 })).toMatchObject({
      httpStatus: null,
      certificates: [leaf.der],
    });
    await eventually(() => expect(open.size).toBe(0));
  });
});

describe('what is no server with certificates', () => {
  const tlsRecord = (type: number, content: Buffer) =>
    Buffer.concat([Buffer.of(type, 3, 3, content.length >> 8, content.length & 255), content]);

  it.each([
    [
      'web pages without TLS',
      'HTTP/1.1 400 Bad Request\r\n\r\nsecret',
      'answers with something that is not TLS',
    ],
    ['another protocol', '220 secret ESMTP\r\n', 'answers with something that is not TLS'],
    ['noise', Buffer.alloc(1_000, 0xa5), 'answers with something that is not TLS'],
    ['nothing', '', 'closed the connection in the middle of the TLS handshake'],
    [
      'half a record',
      Buffer.of(22, 3, 3, 64, 0, 2),
      'closed the connection in the middle of the TLS handshake',
    ],
    ['an alert', tlsRecord(21, Buffer.of(2, 40)), 'no cipher in common (handshake_failure)'],
    ['an unknown alert', tlsRecord(21, Buffer.of(2, 222)), 'refused the handshake.'],
    [
      'the choice of SSL 3',
      tlsRecord(
        22,
        Buffer.concat([Buffer.of(2, 0, 0, 38, 3, 0), Buffer.alloc(33), Buffer.of(0xc0, 0x14, 0)]),
      ),
      'speaks no version from TLS 1.0 to TLS 1.3',
    ],
    ['an empty handshake message', tlsRecord(22, Buffer.of(2, 0, 0, 0)), 'failed the TLS handshake'],
  ])('has a message of ours: %s', async (_what, bytes, words) => {
    const server = await startServer((socket) => socket.once('data', () => socket.end(bytes)));
    const { kind, message } = await faultOf(view(server.port));
    expect([kind, message]).toEqual(['tls', expect.stringContaining(words) as string]);
    expect(message).toMatch(new RegExp(`^127\\.0\\.0\\.1 port ${server.port} `));
    expect(message).not.toContain('secret');
  });

  it('is a connection that is reset in the middle', async () => {
    const server = await startServer((socket) => socket.once('data', () => socket.resetAndDestroy()));
    expect(await faultOf(view(server.port))).toMatchObject({
      kind: 'tls',
      message: expect.stringContaining('closed the connection') as string,
    });
  });

  it.each([
    ['of noise', Buffer.alloc(16_384, 0x5a)],
    ['of records', tlsRecord(22, Buffer.concat([Buffer.of(2, 0xff, 0xff, 0xff), Buffer.alloc(16_000)]))],
    ['of empty records', Buffer.concat(Array.from({ length: 3_000 }, () => tlsRecord(22, Buffer.of())))],
  ])('is not listened to without end: an endless row %s', async (_what, bytes) => {
    const server = await startServer((socket) => {
      const more = (): void => void (socket.writable && socket.write(bytes, more));
      more();
    });
    expect((await faultOf(view(server.port))).kind).toMatch(/^(tls|too_large)$/);
    await eventually(() => expect(server.connections.open).toBe(0));
  });

  it.each([
    ['says nothing', Buffer.of()],
    ['stops in the middle of a record', Buffer.of(22, 3, 3, 64, 0, 2)],
  ])('is waited for as long as was said when it %s', async (_what, bytes) => {
    const server = await startServer((socket) => socket.resume().write(bytes));
    expect(await faultOf(view(server.port, { timeoutMs: 1_500 }))).toMatchObject({
      kind: 'timeout',
      message: `127.0.0.1 port ${server.port} did not complete the TLS handshake in time.`,
    });
    await eventually(() => expect(server.connections.open).toBe(0));
  });

  it('is a closed port', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    expect(await faultOf(view(port))).toMatchObject({
      kind: 'connect',
      message: `127.0.0.1 port ${port} refused the connection.`,
    });
  });
});

describe('a viewing', () => {
  it('of an address that is not public never begins', async () => {
    const server = await startServer((socket) => void socket.resume());
    const closed = new AddressGuard({ allowedNetworks: [] });
    const viewing = {
      port: server.port,
      serverName: 'a.example.com',
      headRequest: null,
      timeoutMs: 1_000,
      maxBytes: 1_000,
    };
    for (const address of ['127.0.0.1', '::1', '::ffff:127.0.0.1', '10.0.0.1', 'localhost']) {
      const asked = presentedCertificates(closed, { ...viewing, address });
      expect(await faultOf(asked)).toMatchObject({ kind: 'refused_address' });
    }
    expect(server.connections.taken).toBe(0);
  });

  it('ends with the reason of its signal, and so does its connection', async () => {
    const server = await startServer((socket) => void socket.resume());
    const reason = new Error('enough');
    const giveUp = new AbortController();
    const viewing = view(server.port, { signal: giveUp.signal });
    await eventually(() => expect(server.connections.open).toBe(1));
    giveUp.abort(reason);
    await expect(viewing).rejects.toBe(reason);
    await eventually(() => expect(server.connections.open).toBe(0));
  });
});
