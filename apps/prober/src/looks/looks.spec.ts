import { createHash } from 'node:crypto';
import { createSocket } from 'node:dgram';
import type { AddressInfo } from 'node:net';
import type { AddressLook, HostLook, Look, LookQuestion } from '@certwright/endpoint-checks';
import { DnsClient } from '@certwright/dns-lookup';
import { AddressGuard } from '@certwright/outbound';
import { ProbeQuestions } from '@certwright/redis';
import { createLogger, Metrics, Readiness, type RunningProcess } from '@certwright/service';
import { eventually, Forge, type Forged, freePort, testRedis } from '@certwright/testing';
import { type AddressedServer, presents, says, serveAddresses, staysSilent } from '@certwright/tls-farm';
import { settings } from '../config';
import { start } from '../start';
import { serveLoopbackNames } from '../testing/loopback-names';
import { ConnectionPlaces } from './connection-places';
import { LookAtHosts } from './look-at-hosts';

const log = createLogger('spec', 'silent');
const metrics = new Metrics('prober');
/** Of the second copy. */
const metricsOfOther = new Metrics('prober');
const serverNames: string[] = [];
const undo: (() => unknown)[] = [];
let root: Forged;
let intermediate: Forged;
let leaf: Forged;
let servers: AddressedServer;
let closedPort: number;
let probes: ProbeQuestions;
let guard: AddressGuard;
let resolver: { readonly host: string; readonly port: number };

/** Of different networks. */
const crowd = Array.from({ length: 20 }, (_, at) => `127.1.${at + 1}.1`);
const addresses = {
  'both.example.com': ['127.0.0.1', '::1'],
  'mixed.example.com': ['127.0.0.1', '10.0.0.7', '169.254.169.254'],
  'leaf.example.com': '127.0.0.2',
  'text.example.com': '127.0.0.5',
  'silent.example.com': '127.0.0.6',
  'web.example.com': '127.0.0.8',
  'closed.example.com': '127.0.0.99',
  'crowd.example.com': crowd,
};

// Some tests wait for times to be up, and machines may be busy.
jest.setTimeout(60_000);
beforeAll(async () => {
  const redis = await testRedis();
  undo.push(() => redis.dispose());
  const names = await serveLoopbackNames(addresses);
  undo.push(() => names.close());
  resolver = names.address;
  const forge = new Forge();
  undo.push(() => forge.dispose());
  root = forge.make({ isCa: true });
  intermediate = forge.make({ by: root, isCa: true });
  leaf = forge.make({ by: intermediate, dnsNames: ['www.example.com'] });
  servers = await serveAddresses({
    '127.0.0.1': presents([leaf, intermediate], { serverNames }),
    '::1': presents([leaf, intermediate, root]),
    '127.0.0.2': presents([leaf]),
    '127.0.0.5': says('220 secret ESMTP\r\n'),
    '127.0.0.6': staysSilent,
    '127.0.0.8': presents([leaf], { response: 'HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n' }),
    ...Object.fromEntries(crowd.map((address) => [address, staysSilent])),
  });
  undo.push(() => servers.close());
  closedPort = await freePort();
  guard = new AddressGuard({ allowedNetworks: ['127.0.0.0/8', '::1/128'] });
  const config = settings.read({
    ...redis.environment,
    DNS_RESOLVERS: `${names.address.host}:${names.address.port}`,
    ALLOWED_NETWORKS: '127.0.0.0/8,::1/128',
  });
  const running = {
    name: 'prober',
    log,
    metrics,
    readiness: new Readiness(),
    opened: (_: string, close: () => unknown) => void undo.push(close),
  };
  // Two copies take questions.
  await start(config, running);
  await start(config, { ...running, metrics: metricsOfOther });
  probes = new ProbeQuestions(redis.access, { name: 'spec', log });
  undo.push(() => probes.close());
}, 60_000);
beforeEach(() => {
  serverNames.length = 0;
  servers.taken.length = 0;
  servers.open.max = servers.open.now;
});
afterAll(async () => {
  for (const step of undo.reverse()) await step();
});

const questionOn = (hosts: readonly string[], more: Partial<LookQuestion> = {}): LookQuestion => ({
  hosts: hosts.map((host) => ({ host, ports: [servers.port] })),
  serverName: 'www.example.com',
  withHttpStatus: false,
  ...more,
});
/** Retries when the question or its response was lost, as every client does. */
async function lookAt(hosts: readonly string[], more: Partial<LookQuestion> = {}): Promise<Look> {
  for (let tries = 0; tries < 10; tries += 1) {
    const namesBefore = serverNames.length;
    const look = await probes.askLook(questionOn(hosts, more));
    if (look !== null) return look;
    serverNames.length = namesBefore;
  }
  throw new Error('the prober did not answer');
}
interface Here {
  readonly times?: Partial<LookAtHosts['times']>;
  readonly by?: AddressGuard;
  readonly resolvers?: readonly { readonly host: string; readonly port: number }[];
}
/** In this process, without Redis, and with times that need not be waited for. */
async function lookHere(
  hosts: readonly string[],
  { times = {}, by = guard, resolvers = [resolver] }: Here,
): Promise<readonly HostLook[]> {
  const clients = resolvers.map((server) => new DnsClient({ server }));
  const places = new ConnectionPlaces({
    occupy: () => Promise.reject(new Error('no Redis')),
    vacate: () => Promise.reject(new Error('no Redis')),
  });
  const running = { log, metrics: new Metrics('spec') } as RunningProcess;
  const each = async () => await Promise.resolve(clients.map(({ lookUp }) => lookUp));
  const here = new LookAtHosts(by, { each }, places, running);
  Object.assign(here.times, times);
  const look = await here.respond(questionOn(hosts));
  for (const client of clients) client.close();
  return look?.hosts ?? [];
}
const found = (host: string, addresses: readonly AddressLook[], omitted: Partial<HostLook> = {}) => ({
  host,
  lookUp: { kind: 'found' },
  addresses,
  omitted: 0,
  ...omitted,
});
const at = (address: string, result: object) => ({ address, port: servers.port, result }) as AddressLook;
const presented = (chain: readonly number[], httpStatus: number | null = null) => ({
  kind: 'presented',
  chain,
  version: 'TLSv1.3',
  cipher: 'TLS_AES_256_GCM_SHA384',
  httpStatus,
});
const presentedSomething = expect.objectContaining({ kind: 'presented' }) as object;
const failed = (reason: string, problem: unknown) => ({ kind: 'not_presented', reason, problem });
const message = (text: string) => expect.stringContaining(text) as string;
const sha256 = (text: string | undefined) =>
  createHash('sha256')
    .update(Buffer.from(text ?? '', 'base64'))
    .digest('hex');

describe('a look at hosts', () => {
  it('shows what every IPv4 and IPv6 address presents, in the order of the hosts', async () => {
    const { hosts, certificates } = await lookAt(['leaf.example.com', 'both.example.com']);
    const index = (of: Forged) => certificates.map(sha256).indexOf(of.sha256);
    expect(certificates.map(sha256).sort()).toEqual(
      [leaf, intermediate, root].map((each) => each.sha256).sort(),
    );
    expect(hosts).toEqual([
      found('leaf.example.com', [at('127.0.0.2', presented([index(leaf)]))]),
      found('both.example.com', [
        at('::1', presented([leaf, intermediate, root].map(index))),
        at('127.0.0.1', presented([leaf, intermediate].map(index))),
      ]),
    ]);
  });

  it('looks at every port, and fetches the status of HTTP where it is requested', async () => {
    const ports = [servers.port, closedPort];
    const [host] = (await lookAt([], { hosts: [{ host: 'web.example.com', ports }], withHttpStatus: true }))
      .hosts;
    expect(host?.addresses).toEqual([
      at('127.0.0.8', presented([0], 404)),
      {
        address: '127.0.0.8',
        port: closedPort,
        result: failed('connect', message('refused the connection')),
      },
    ]);
  });

  it('uses the host as server name, and for an address the given name', async () => {
    await lookAt(['both.example.com']);
    expect(serverNames).toEqual(['both.example.com']);
    const { hosts } = await lookAt(['127.0.0.1', '::1'], { serverName: 'cn.example.com' });
    expect(hosts).toMatchObject([
      found('127.0.0.1', [at('127.0.0.1', presentedSomething)]),
      found('::1', [at('::1', presentedSomething)]),
    ]);
    await lookAt(['127.0.0.1'], { serverName: null });
    expect(serverNames).toEqual(['both.example.com', 'cn.example.com']);
  });

  it('reports for each address why nothing was presented, and never quotes the server', async () => {
    const { hosts } = await lookAt(['closed.example.com', 'text.example.com', 'www.example.net']);
    expect(hosts).toEqual([
      found('closed.example.com', [
        at('127.0.0.99', failed('connect', `127.0.0.99 port ${servers.port} refused the connection.`)),
      ]),
      found('text.example.com', [at('127.0.0.5', failed('handshake', message('not TLS')))]),
      {
        host: 'www.example.net',
        lookUp: { kind: 'failed', failure: 'refused' },
        addresses: [],
        omitted: 0,
      },
    ]);
    expect(JSON.stringify(hosts)).not.toContain('secret');
  });

  it('connects to no address that is not public, and to those beside it', async () => {
    const refused = failed('refused_address', 'This is not a public address.');
    expect((await lookAt(['mixed.example.com', '192.168.0.1'])).hosts).toEqual([
      found('mixed.example.com', [
        at('127.0.0.1', presentedSomething),
        at('10.0.0.7', refused),
        at('169.254.169.254', refused),
      ]),
      found('192.168.0.1', [at('192.168.0.1', refused)]),
    ]);
    const closed = new AddressGuard({ allowedNetworks: [] });
    servers.taken.length = 0;
    expect(await lookHere(['127.0.0.1', '::1'], { by: closed })).toEqual([
      found('127.0.0.1', [at('127.0.0.1', refused)]),
      found('::1', [at('::1', refused)]),
    ]);
    expect(servers.taken).toEqual([]);
  });

  it('times out a silent server without affecting the others', async () => {
    const times = { connectionWithinMs: 5_000 };
    expect(await lookHere(['silent.example.com', 'both.example.com'], { times })).toEqual([
      found('silent.example.com', [
        at('127.0.0.6', failed('timeout', message('did not complete the TLS handshake in time'))),
      ]),
      found('both.example.com', [at('::1', presentedSomething), at('127.0.0.1', presentedSomething)]),
    ]);
  });

  it('ends at the timeout: nothing is known of pending addresses; at most sixteen run at a time', async () => {
    const begun = performance.now();
    const hosts = await lookHere(['crowd.example.com', 'silent.example.com'], { times: { withinMs: 5_000 } });
    expect(performance.now() - begun).toBeLessThan(10_000);
    const late = failed('busy', 'There was no response in time.');
    const omitted = { omitted: 4, firstOmitted: crowd[16] };
    expect(hosts).toEqual([
      found(
        'crowd.example.com',
        crowd.slice(0, 16).map((address) => at(address, late)),
        omitted,
      ),
      found('silent.example.com', [at('127.0.0.6', late)]),
    ]);
    // Seventeen addresses were to be looked at, and none let go of its turn.
    expect([servers.taken.length, servers.open.max]).toEqual([16, 16]);
    await eventually(() => expect(servers.open.now).toBe(0));
  });

  it('leaves half of its time to the servers when a resolver is silent', async () => {
    const deaf = createSocket('udp4');
    await new Promise<void>((resolve) => deaf.bind(0, '127.0.0.1', resolve));
    undo.push(() => new Promise<void>((resolve) => deaf.close(() => resolve())));
    const { port } = deaf.address() as AddressInfo;
    const resolvers = [{ host: '127.0.0.1', port }];
    const times = { withinMs: 6_000 };
    expect(await lookHere(['www.example.com', '127.0.0.1'], { times, resolvers })).toEqual([
      {
        host: 'www.example.com',
        lookUp: { kind: 'failed', failure: 'timeout' },
        addresses: [],
        omitted: 0,
      },
      found('127.0.0.1', [at('127.0.0.1', presentedSomething)]),
    ]);
  });

  it('connects to an address once at a time, whichever copy of the prober and whichever host', async () => {
    const hosts = Array.from({ length: 10 }, (_, nth) => `h${nth}.example.com`);
    const looks = await Promise.all([lookAt(hosts), lookAt(hosts), lookAt(hosts)]);
    for (const { hosts: each } of looks)
      expect(each.map(({ addresses: [first] }) => first?.result.kind)).toEqual(hosts.map(() => 'presented'));
    expect(servers.taken.length).toBeGreaterThanOrEqual(30);
    expect(servers.open.max).toBe(1);
  });

  it('that is not understood gets no response, rather than a wrong one', async () => {
    expect(await probes.askLook(questionOn(['localhost']), 500)).toBeNull();
    expect(await lookAt([])).toEqual({ hosts: [], certificates: [] });
  });

  it('is counted by address', async () => {
    await lookAt(['both.example.com', 'closed.example.com', 'text.example.com', '10.0.0.1']);
    const text = (await Promise.all([metrics, metricsOfOther].map((each) => each.render()))).join('\n');
    for (const result of ['presented', 'connect', 'handshake', 'refused_address'])
      expect(text).toMatch(new RegExp(`look_addresses_total\\{result="${result}",process="prober"\\} [1-9]`));
    expect(text).not.toMatch(/look_addresses_total\{result="internal",process="prober"\} [1-9]/);
    expect(text).toMatch(/look_duration_seconds_count/);
    expect(text).toMatch(/look_wait_seconds_count/);
  });
});
