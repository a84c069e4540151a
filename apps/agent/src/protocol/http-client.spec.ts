import { createServer as createPlain, type Server } from 'node:http';
import {
  connect,
  createServer as createTcp,
  type AddressInfo,
  type Server as TcpServer,
  type Socket,
} from 'node:net';
import { newIdentityKey, rawPublicKey, agentId } from '@certwright/agent-contract';
import { FakeServer } from '../testing/fake-server';
import { TestCa } from '../testing/test-ca';
import { AgentApi, Refusal } from './agent-api';
import { CorrectedClock } from './corrected-clock';
import { HttpClient, Unreachable } from './http-client';

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

async function listening<T extends Server | TcpServer>(server: T): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket));
  closing.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

const clientOf = (url: string, { trusted = [] as string[], proxy = null as URL | null } = {}) => {
  const client = new HttpClient(new URL(url), { trusted, proxy });
  closing.push(() => client.close());
  return client;
};
const get = {
  method: 'GET',
  path: '/api/v3/agent/members',
  query: '',
  headers: {},
  body: Buffer.alloc(0),
} as const;

function apiOf(client: HttpClient, clock = new CorrectedClock()) {
  const identityKey = newIdentityKey();
  return new AgentApi(client, { agentId: agentId(rawPublicKey(identityKey)), identityKey }, clock);
}

describe('responses', () => {
  it('does not follow a redirect', async () => {
    let requests = 0;
    const port = await listening(
      createPlain((_request, response) => {
        requests++;
        response.writeHead(302, { location: '/elsewhere' }).end();
      }),
    );
    await expect(apiOf(clientOf(`http://127.0.0.1:${port}`)).members()).rejects.toThrow(
      'the server redirects (status 302), which the agent does not follow; correct server',
    );
    expect(requests).toBe(1);
  });

  it('ends a body of more than 1 MiB', async () => {
    const port = await listening(
      createPlain((_request, response) => {
        const piece = Buffer.alloc(64 * 1024, 0x20);
        const write = () => {
          while (!response.destroyed && response.write(piece));
          response.once('drain', write);
        };
        write();
      }),
    );
    await expect(clientOf(`http://127.0.0.1:${port}`).send(get)).rejects.toThrow(
      'the server sent a response of more than 1048576 bytes',
    );
  });

  it.each([
    ['not JSON', 'hello'],
    ['another shape', '{"version":1}'],
    ['a member twice', '{"version":1,"version":2,"members":[]}'],
  ])('refuses %s', async (_what, body) => {
    const port = await listening(createPlain((_request, response) => response.end(body)));
    await expect(apiOf(clientOf(`http://127.0.0.1:${port}`)).members()).rejects.toThrow(Unreachable);
  });

  it('reads Retry-After of 503', async () => {
    const port = await listening(
      createPlain((_request, response) =>
        response.writeHead(503, { 'retry-after': '7' }).end('{"code":"unavailable","message":"full"}'),
      ),
    );
    const error: unknown = await apiOf(clientOf(`http://127.0.0.1:${port}`))
      .members()
      .catch((each: unknown) => each);
    expect(error).toBeInstanceOf(Refusal);
    expect(error).toMatchObject({ status: 503, retryAfterMs: 7000 });
  });

  it('names a server that refuses connections', async () => {
    const port = await listening(createTcp());
    closing.splice(0).forEach((close) => close());
    await expect(clientOf(`http://127.0.0.1:${port}`).send(get)).rejects.toThrow(
      `127.0.0.1:${port}: connection refused; check the address and the firewall`,
    );
  });
});

describe('silence', () => {
  beforeEach(() => jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] }));
  afterEach(() => jest.useRealTimers());
  const turns = async (condition: () => boolean) => {
    for (let turn = 0; turn < 10_000 && !condition(); turn++)
      await new Promise((resolve) => setImmediate(resolve));
  };

  it('ends a request after 15 s without a byte, a waiting one after its wait and 15 s', async () => {
    let requests = 0;
    const port = await listening(createPlain(() => requests++));
    for (const [waitS, limitMs] of [
      [0, 15_000],
      [50, 65_000],
    ] as const) {
      const before = requests;
      let error: unknown;
      const sent = clientOf(`http://127.0.0.1:${port}`)
        .send({ ...get, waitS })
        .catch((each: unknown) => (error = each));
      await turns(() => requests > before);
      jest.advanceTimersByTime(limitMs - 1);
      await turns(() => error !== undefined).catch(() => undefined);
      expect(error).toBeUndefined();
      jest.advanceTimersByTime(1);
      await sent;
      expect(String(error)).toContain('nothing received for');
    }
  });

  it('ends a response that arrives byte by byte for ever', async () => {
    let send: (() => void) | undefined;
    const port = await listening(
      createPlain((_request, response) => {
        send = () => response.write(' ');
        send();
      }),
    );
    let error: unknown;
    const sent = clientOf(`http://127.0.0.1:${port}`)
      .send(get)
      .catch((each: unknown) => (error = each));
    await turns(() => send !== undefined);
    for (let elapsed = 0; elapsed < 120_000 && error === undefined; elapsed += 10_000) {
      send?.();
      for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
      jest.advanceTimersByTime(10_000);
    }
    await sent;
    expect(String(error)).toContain('the response did not end in time');
  });
});

describe('trust', () => {
  it('accepts a server of the CA, and no other', async () => {
    const server = await FakeServer.start({ isSecure: true });
    closing.push(() => void server.stop());
    const response = await clientOf(server.url, { trusted: [server.ca.rootPem] }).send(get);
    expect(response.status).toBe(401);
    await expect(clientOf(server.url, { trusted: [new TestCa().rootPem] }).send(get)).rejects.toThrow(
      'its certificate is not trusted; set ca_file to the CA that issued it',
    );
  });
});

describe('proxy', () => {
  /** Accepts CONNECT as a real proxy does. */
  async function proxy(respond: (socket: Socket, target: string) => void) {
    const heads: string[] = [];
    const port = await listening(
      createTcp((socket) => {
        socket.on('error', () => undefined);
        socket.once('data', (head) => {
          heads.push(head.toString());
          respond(socket, /^CONNECT (\S+) /.exec(head.toString())?.[1] ?? '');
        });
      }),
    );
    return { heads, url: new URL(`http://user:p%40ss@127.0.0.1:${port}`) };
  }
  const tunnel = (socket: Socket, target: string) => {
    const [host = '', port = ''] = target.split(':');
    const upstream = connect(Number(port), host, () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      socket.pipe(upstream).pipe(socket);
    });
    upstream.on('error', () => socket.destroy());
    socket.on('close', () => upstream.destroy());
  };

  it('reaches the server by CONNECT, with TLS to the server', async () => {
    const server = await FakeServer.start({ isSecure: true });
    closing.push(() => void server.stop());
    const { heads, url } = await proxy(tunnel);
    const client = clientOf(server.url, { trusted: [server.ca.rootPem], proxy: url });
    expect((await client.send(get)).status).toBe(401);
    expect((await client.send(get)).status).toBe(401);
    // One connection for both requests.
    expect(heads).toEqual([
      `CONNECT ${new URL(server.url).host} HTTP/1.1\r\nHost: ${new URL(server.url).host}\r\nProxy-Authorization: Basic ${Buffer.from('user:p@ss').toString('base64')}\r\n\r\n`,
    ]);
  });

  it('verifies the certificate of the server through the proxy', async () => {
    const server = await FakeServer.start({ isSecure: true });
    closing.push(() => void server.stop());
    const { url } = await proxy(tunnel);
    await expect(
      clientOf(server.url, { trusted: [new TestCa().rootPem], proxy: url }).send(get),
    ).rejects.toThrow('its certificate is not trusted');
  });

  it.each([
    [
      'refuses',
      (socket: Socket) => socket.end('HTTP/1.1 403 Forbidden\r\n\r\n'),
      'responds 403; check proxy and its permissions',
    ],
    ['is no proxy', (socket: Socket) => socket.end('SSH-2.0-OpenSSH\r\n\r\n'), 'responds without HTTP'],
    ['closes', (socket: Socket) => socket.destroy(), 'the connection was closed'],
    [
      'never ends its headers',
      (socket: Socket) => void socket.write('x'.repeat(20_000)),
      'responds without HTTP',
    ],
    [
      'sends bytes ahead of TLS',
      (socket: Socket) => void socket.write('HTTP/1.1 200 OK\r\n\r\nx'),
      'responds 200',
    ],
  ])('names a proxy that %s', async (_what, respond, text) => {
    const { url } = await proxy(respond);
    await expect(
      clientOf('https://certs.example.net', { trusted: [new TestCa().rootPem], proxy: url }).send(get),
    ).rejects.toThrow(text);
  });
});

describe('clock', () => {
  it.each([-3 * 86_400_000, 400_000, 40 * 86_400_000])(
    'works with a clock that is %s ms apart',
    async (offsetMs) => {
      const server = await FakeServer.start();
      closing.push(() => void server.stop());
      server.clockOffsetMs = offsetMs;
      const clock = new CorrectedClock();
      const identityKey = newIdentityKey();
      const id = agentId(rawPublicKey(identityKey));
      const identity_key = Buffer.from(rawPublicKey(identityKey)).toString('base64url');
      server.members.set(id, {
        agent_id: id,
        name: 'a',
        identity_key,
        sealing_key: identity_key,
        statement: null,
      });
      const api = new AgentApi(clientOf(server.url), { agentId: id, identityKey }, clock);
      expect((await api.members()).members).toHaveLength(1);
      expect(server.requests).toHaveLength(2);
      expect(Math.abs(clock.now().getTime() - Date.now() - offsetMs)).toBeLessThan(10_000);
      expect(clock.problem()).toMatch(/^the clock of this host is .* that of the server; correct it/);
      await api.members();
      expect(server.requests).toHaveLength(3);
    },
  );

  it('repeats a request only once', async () => {
    let requests = 0;
    const port = await listening(
      createPlain((_request, response) => {
        requests++;
        response.writeHead(401).end('{"code":"clock_skew","message":"no"}');
      }),
    );
    await expect(apiOf(clientOf(`http://127.0.0.1:${port}`)).members()).rejects.toThrow(Refusal);
    expect(requests).toBe(2);
  });
});
