import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, TLSSocket, type TlsOptions } from 'node:tls';
import { Forge, type Forged } from '@certwright/testing';
import { probe, type ProbeTarget } from './probe';

const forge = new Forge();
const expired = forge.make({
  by: forge.make({ isCa: true }),
  dnsNames: ['www.example.com'],
  notBefore: new Date('2020-01-01T00:00:00Z'),
});
const other = forge.make({ dnsNames: ['other.example.com'] });
const rsa = forge.make({ key: 'rsa1024' });
const pairOf = ({ file, keyFile }: Forged) => ({ cert: readFileSync(file), key: readFileSync(keyFile) });

const servers: Server[] = [];
const open = new Set<Socket>();
afterEach(async () => {
  for (const socket of open) socket.destroy();
  await Promise.all(servers.splice(0).map((server) => new Promise((resolve) => server.close(resolve))));
});
afterAll(() => forge.dispose());

async function listen(server: Server): Promise<string> {
  servers.push(server);
  server.on('connection', (socket: Socket) => {
    open.add(socket.on('error', () => undefined));
    socket.once('close', () => open.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const serveTls = async (options: TlsOptions) =>
  await listen(createTlsServer(options).on('tlsClientError', () => undefined));

/** Sends `replies` one after the other: the first to the connection, each further one to a message; then TLS begins. */
async function scripted(replies: readonly (string | null)[], transcript: string[] = []): Promise<string> {
  return await listen(
    createTcpServer((socket) => {
      let step = 0;
      const next = (): void => {
        const reply = replies[step++];
        if (typeof reply === 'string') socket.write(reply);
        if (step < replies.length || reply === undefined || reply === null) return;
        socket.off('data', heard);
        const secure = new TLSSocket(socket, { isServer: true, ...pairOf(other) });
        secure.on('error', () => undefined).on('data', (bytes) => transcript.push(String(bytes)));
      };
      const heard = (bytes: Buffer): void => {
        transcript.push(bytes.toString('latin1'));
        next();
      };
      socket.on('data', heard);
      if (replies[0] === '') step++;
      else next();
    }),
  );
}

const look = async (address: string, target: Partial<ProbeTarget> = {}, timeoutMs = 10_000) =>
  await probe({ address, serverName: 'www.example.com', ...target }, { timeoutMs });
const problem = (pattern: RegExp) => ({ sha256: null, problem: expect.stringMatching(pattern) });

describe('TLS from the first byte', () => {
  it('returns the leaf that the server selects by SNI, although it has expired and is not trusted', async () => {
    const address = await serveTls({
      ...pairOf(other),
      SNICallback: (name, done) => {
        // Loaded here, so that a failure in it fails the handshake.
        const { createSecureContext } = jest.requireActual<typeof import('node:tls')>('node:tls');
        done(null, createSecureContext(pairOf(name === 'www.example.com' ? expired : other)));
      },
    });
    expect(await look(address)).toEqual({ sha256: expired.sha256, problem: null });
    expect(await look(address, { serverName: 'else.example.com' })).toEqual({
      sha256: other.sha256,
      problem: null,
    });
    // An IP address is not sent as SNI.
    expect(await look(address, { serverName: '127.0.0.1' })).toEqual({ sha256: other.sha256, problem: null });
  });

  it('returns the leaf of the requested key type when the server has both', async () => {
    const address = await serveTls({
      cert: [pairOf(other).cert, pairOf(rsa).cert],
      key: [pairOf(other).key, pairOf(rsa).key],
      // The RSA key of the spec is short.
      ciphers: 'DEFAULT:@SECLEVEL=0',
    });
    expect(await look(address, { keyType: 'ecdsa' })).toEqual({ sha256: other.sha256, problem: null });
    expect(await look(address, { keyType: 'rsa' })).toEqual({ sha256: rsa.sha256, problem: null });
  });

  it.each(['TLSv1.2', 'TLSv1.3'] as const)(
    'returns the leaf of a server that requires a client certificate, with %s',
    async (maxVersion) => {
      const required = { requestCert: true, rejectUnauthorized: true };
      const address = await serveTls({ ...pairOf(other), maxVersion, ...required });
      expect(await look(address)).toEqual({ sha256: other.sha256, problem: null });
    },
  );

  it('reports a server that is not there', async () => {
    const address = await serveTls(pairOf(other));
    await new Promise((resolve) => servers.pop()?.close(resolve));
    expect(await look(address)).toEqual(problem(/^127\.0\.0\.1:\d+: connection refused/));
  });

  it('reports a server that speaks something else', async () => {
    const address = await listen(createTcpServer((socket) => socket.write('SSH-2.0-Spec\r\n')));
    expect(await look(address)).toEqual(problem(/is not TLS; set starttls/));
  });

  it('reports a server that closes, one that resets, and one that has no certificate for the client', async () => {
    expect(await look(await listen(createTcpServer((socket) => socket.end())))).toEqual(
      problem(/closed the connection/),
    );
    expect(await look(await listen(createTcpServer((socket) => socket.resetAndDestroy())))).toEqual(
      problem(/closed the connection/),
    );
    expect(await look(await serveTls({}))).toEqual(problem(/TLS handshake failed/));
  });

  it('gives up when the time is up, however slowly the server responds, and when it is cancelled', async () => {
    const silent = await listen(createTcpServer(() => undefined));
    expect(await look(silent, {}, 50)).toEqual(problem(/no TLS handshake within 0.05 s$/));
    const dripping = await listen(
      createTcpServer((socket) => {
        const timer = setInterval(() => socket.write('220-x\r\n'), 5);
        socket.once('close', () => clearInterval(timer));
      }),
    );
    expect(await look(dripping, { starttls: 'smtp' }, 100)).toEqual(problem(/within 0.1 s$/));
    const target = { address: silent, serverName: 'www.example.com' };
    expect(await probe(target, { timeoutMs: 10_000, signal: AbortSignal.abort() })).toEqual(
      problem(/cancelled/),
    );
    const cancelling = new AbortController();
    const running = probe(target, { timeoutMs: 10_000, signal: cancelling.signal });
    setImmediate(() => cancelling.abort());
    expect(await running).toEqual(problem(/cancelled/));
  });

  it.each(['127.0.0.1', ':443', 'a b:443', '::1:443', 'host:0', 'host:65536', 'host:443/x'])(
    'refuses the address %s',
    async (address) => {
      expect(await look(address)).toEqual(problem(/write host:port/));
    },
  );
});

const good = {
  smtp: [
    '220-hello\r\n220 mail.example.com\r\n',
    '250-mail\r\n250-STARTTLS\r\n250 8BITMIME\r\n',
    '220 go\r\n',
  ],
  imap: ['* OK [CAPABILITY IMAP4rev1 STARTTLS] ready\r\n', '* CAPABILITY IMAP4rev1\r\na OK begin\r\n'],
  pop3: ['+OK ready\r\n', '+OK begin\r\n'],
  postgres: ['', 'S'],
} as const;

describe('STARTTLS', () => {
  it.each([
    ['smtp', ['EHLO [127.0.0.1]\r\n', 'STARTTLS\r\n', 'QUIT\r\n']],
    ['imap', ['a STARTTLS\r\n', 'b LOGOUT\r\n']],
    ['pop3', ['STLS\r\n', 'QUIT\r\n']],
    ['postgres', ['\0\0\0\x08\x04\xd2\x16\x2f']],
  ] as const)('%s: returns the leaf, and says goodbye inside TLS', async (starttls, expected) => {
    const transcript: string[] = [];
    const address = await scripted(good[starttls], transcript);
    expect(await look(address, { starttls })).toEqual({ sha256: other.sha256, problem: null });
    await Promise.all([...open].map((socket) => new Promise((resolve) => socket.once('close', resolve))));
    expect(transcript).toEqual(expected);
  });

  it.each([
    ['smtp', ['554 no service\r\n'], /unexpected response to the connection: 554 no service/],
    ['smtp', ['220 hi\r\n', '250 mail\r\n'], /does not offer STARTTLS; enable TLS/],
    [
      'smtp',
      ['220 hi\r\n', '250-STARTTLS\r\n250 x\r\n', '454 not now\r\n'],
      /response to STARTTLS: 454 not now/,
    ],
    ['smtp', ['220-a\r\n250 b\r\n'], /unexpected response/],
    ['imap', ['* PREAUTH\r\n'], /unexpected response to the connection: \* PREAUTH/],
    ['imap', ['* OK hi\r\n', 'a NO \x1b[31mdisabled\r\n'], /response to STARTTLS: a NO \?\[31mdisabled/],
    ['imap', ['* OK hi\r\n', '* BYE\r\n'], /response to STARTTLS: \* BYE/],
    ['pop3', ['-ERR busy\r\n'], /unexpected response to the connection: -ERR busy/],
    ['pop3', ['+OK hi\r\n', '-ERR no\r\n'], /response to STLS: -ERR no/],
    ['postgres', ['', 'N'], /set ssl = on/],
    ['postgres', ['', 'E'], /not of PostgreSQL/],
  ] as const)('%s: reports the response %j', async (starttls, replies, expected) => {
    expect(await look(await scripted([...replies, null]), { starttls })).toEqual(problem(expected));
  });

  it.each([
    ['smtp', '220 go\r\n250 injected\r\n'],
    ['imap', 'a OK begin\r\nb OK injected\r\n'],
    ['pop3', '+OK begin\r\n+OK injected\r\n'],
    ['postgres', 'SE'],
  ] as const)('%s: refuses data ahead of the handshake', async (starttls, last) => {
    const address = await scripted([...good[starttls].slice(0, -1), last, null]);
    expect(await look(address, { starttls })).toEqual(problem(/ahead of the TLS handshake/));
  });

  it.each([
    ['a line without end', 'x'.repeat(9000), /a line of more than 8192 bytes/],
    ['lines without end', '220-x\r\n'.repeat(200), /a reply of more than 100 lines/],
    ['endless bytes', `220-${'x'.repeat(8000)}\r\n`.repeat(20), /more than 65536 bytes/],
  ])('stops at %s', async (_what, greeting, expected) => {
    expect(await look(await scripted([greeting, null]), { starttls: 'smtp' })).toEqual(problem(expected));
  });

  it('reports a server that closes in between', async () => {
    const address = await listen(createTcpServer((socket) => socket.end('220 mail.exam')));
    expect(await look(address, { starttls: 'smtp' })).toEqual(
      problem(/closed the connection before TLS began/),
    );
  });

  it('a problem is one bounded line of printable ASCII', async () => {
    const address = await scripted([`500 ${'é\t<b>'.repeat(1000)}\r\n`, null]);
    const result = await look(address, { starttls: 'smtp' });
    expect(result.problem).toMatch(/^[\x20-\x7e]{100,300}$/);
  });
});
