import { randomUUID } from 'node:crypto';
import { createSocket } from 'node:dgram';
import type { AddressInfo } from 'node:net';
import type { InstallationAnswer, InstallationQuestion } from '@certwright/jobs';
import { AddressGuard } from '@certwright/outbound';
import { ProbeQuestions } from '@certwright/redis';
import { createLogger, Metrics, Readiness, type RunningProcess } from '@certwright/service';
import { eventually, testRedis } from '@certwright/testing';
import { settings } from '../config';
import { start } from '../start';
import {
  type AddressedServer,
  presents,
  says,
  serveAddresses,
  staysSilent,
} from '../testing/addressed-server';
import { forgeCertificate, type ForgedCertificate } from '../testing/forged-chain';
import { serveLoopbackNames } from '../testing/loopback-names';
import { InstallationTest } from './installation-test';

const log = createLogger('spec', 'silent');
const metrics = new Metrics('prober');
const serverNames: string[] = [];
const undo: (() => unknown)[] = [];
let root: ForgedCertificate;
let intermediate: ForgedCertificate;
let leaf: ForgedCertificate;
let temporary: ForgedCertificate;
let servers: AddressedServer;
let probes: ProbeQuestions;
let guard: AddressGuard;

const crowd = Array.from({ length: 20 }, (_, at) => `127.0.1.${at + 1}`);
const addresses = {
  'both.example.com': ['127.0.0.1', '::1'],
  'mixed.example.com': ['127.0.0.1', '10.0.0.7', '169.254.169.254'],
  'leaf.example.com': '127.0.0.2',
  'new.example.com': '127.0.0.3',
  'old.example.com': '127.0.0.4',
  'text.example.com': '127.0.0.5',
  'silent.example.com': '127.0.0.6',
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
  root = forgeCertificate('root');
  intermediate = forgeCertificate('intermediate', root);
  leaf = forgeCertificate('www.example.com', intermediate);
  temporary = forgeCertificate('www.example.com');
  servers = await serveAddresses({
    '127.0.0.1': presents([leaf, intermediate], serverNames),
    '::1': presents([leaf, intermediate, root]),
    '127.0.0.2': presents([leaf]),
    '127.0.0.3': presents([temporary]),
    '127.0.0.4': presents([forgeCertificate('www.example.com', intermediate), intermediate]),
    '127.0.0.5': says('220 secret ESMTP\r\n'),
    '127.0.0.6': staysSilent,
    ...Object.fromEntries(crowd.map((address) => [address, staysSilent])),
  });
  undo.push(() => servers.close());
  guard = new AddressGuard({ allowedNetworks: ['127.0.0.0/8', '::1/128'], resolvers: [names.address] });
  const queue = `spec-${randomUUID()}`;
  const config = settings.read({
    REDIS_URL: redis.url,
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
  await start(config, running, queue);
  probes = new ProbeQuestions(redis.url, { name: 'spec', log }, queue);
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

const questionOn = (hosts: readonly string[], more: Partial<InstallationQuestion> = {}) => ({
  hosts,
  port: servers.port,
  serverName: 'www.example.com',
  leafSha256: leaf.sha256,
  chainSha256: [intermediate.sha256],
  temporarySha256: [temporary.sha256],
  ...more,
});
/** Retries when the question or its response was lost, as every client does. */
async function test(
  hosts: readonly string[],
  more: Partial<InstallationQuestion> = {},
): Promise<InstallationAnswer['tests']> {
  for (let tries = 0; tries < 10; tries += 1) {
    const namesBefore = serverNames.length;
    const response = await probes.askTls(questionOn(hosts, more));
    if (response !== null) return response.tests;
    serverNames.length = namesBefore;
  }
  throw new Error('the prober did not answer');
}
/** In this process, and with times that need not be waited for. */
async function testWith(
  times: Partial<InstallationTest['times']>,
  hosts: readonly string[],
  by = guard,
): Promise<InstallationAnswer['tests']> {
  const here = new InstallationTest(by, { log, metrics: new Metrics('spec') } as RunningProcess);
  Object.assign(here.times, times);
  const response = await here.respond(questionOn(hosts));
  return response?.tests ?? [];
}
const conclusive = (
  host: string,
  address: string,
  found = { correct: true, chained: true, temporary: false },
) => ({
  host,
  address,
  status: 'conclusive',
  ...found,
});
const message = (text: string) => expect.stringContaining(text) as string;

describe('the test of an installation', () => {
  it('looks at every IPv4 and IPv6 address of every host, in the order of the hosts', async () => {
    expect(await test(['leaf.example.com', 'both.example.com'])).toEqual([
      conclusive('leaf.example.com', '127.0.0.2', { correct: true, chained: false, temporary: false }),
      conclusive('both.example.com', '::1'),
      conclusive('both.example.com', '127.0.0.1'),
    ]);
  });

  it('recognizes a temporary certificate, and a different certificate', async () => {
    expect(await test(['new.example.com', 'old.example.com'])).toEqual([
      conclusive('new.example.com', '127.0.0.3', { correct: true, chained: true, temporary: true }),
      conclusive('old.example.com', '127.0.0.4', { correct: false, chained: true, temporary: false }),
    ]);
  });

  it('uses the host as server name, and for an address the given name', async () => {
    await test(['both.example.com']);
    expect(serverNames).toEqual(['both.example.com']);
    expect(await test(['127.0.0.1', '::1'], { serverName: 'cn.example.com' })).toEqual([
      conclusive('127.0.0.1', '127.0.0.1'),
      conclusive('::1', '::1'),
    ]);
    expect(serverNames).toEqual(['both.example.com', 'cn.example.com']);
  });

  it('reports for each address why there is no result, and never quotes the server', async () => {
    const tests = await test(['closed.example.com', 'text.example.com', 'www.example.net']);
    expect(tests).toEqual([
      {
        host: 'closed.example.com',
        address: '127.0.0.99',
        status: 'connect_error',
        problem: `127.0.0.99 port ${servers.port} refused the connection.`,
      },
      {
        host: 'text.example.com',
        address: '127.0.0.5',
        status: 'handshake_error',
        problem: message('not TLS'),
      },
      {
        host: 'www.example.net',
        address: '',
        status: 'connect_error',
        problem: message('www.example.net'),
      },
    ]);
    expect(JSON.stringify(tests)).not.toContain('secret');
  });

  it('connects to no address that is not public, and to those beside it', async () => {
    const refused = (host: string, address: string) => ({
      host,
      address,
      status: 'connect_error',
      problem: 'This is not a public address.',
    });
    expect(await test(['mixed.example.com', '192.168.0.1'])).toEqual([
      conclusive('mixed.example.com', '127.0.0.1'),
      refused('mixed.example.com', '10.0.0.7'),
      refused('mixed.example.com', '169.254.169.254'),
      refused('192.168.0.1', '192.168.0.1'),
    ]);
    const closed = new AddressGuard({ allowedNetworks: [] });
    servers.taken.length = 0;
    expect(await testWith({}, ['127.0.0.1', '::1'], closed)).toEqual([
      refused('127.0.0.1', '127.0.0.1'),
      refused('::1', '::1'),
    ]);
    expect(servers.taken).toEqual([]);
  });

  it('times out a silent server without affecting the others', async () => {
    expect(await testWith({ connectionWithinMs: 5_000 }, ['silent.example.com', 'both.example.com'])).toEqual(
      [
        {
          host: 'silent.example.com',
          address: '127.0.0.6',
          status: 'handshake_error',
          problem: message('did not complete the TLS handshake in time'),
        },
        conclusive('both.example.com', '::1'),
        conclusive('both.example.com', '127.0.0.1'),
      ],
    );
  });

  it('ends at the timeout: pending tests are reported as unanswered; at most sixteen run at a time', async () => {
    const begun = performance.now();
    const tests = await testWith({ withinMs: 5_000 }, ['crowd.example.com', 'silent.example.com']);
    expect(performance.now() - begun).toBeLessThan(10_000);
    expect(tests).toHaveLength(16 + 1 + 1);
    const late = { status: 'connect_error', problem: 'There was no response in time.' };
    expect(tests.slice(0, 16)).toEqual(
      Array.from({ length: 16 }, () => expect.objectContaining(late) as object),
    );
    expect(tests[16]).toMatchObject({ status: 'internal_error', problem: message('and 3 more of the host') });
    expect(tests[17]).toMatchObject({ host: 'silent.example.com', ...late });
    // Seventeen addresses were to be tested, and none let go of its place.
    expect([servers.taken.length, servers.open.max]).toEqual([16, 16]);
    await eventually(() => expect(servers.open.now).toBe(0));
  });

  it('leaves half of its time to the servers when a resolver is silent', async () => {
    const resolver = createSocket('udp4');
    await new Promise<void>((resolve) => resolver.bind(0, '127.0.0.1', resolve));
    undo.push(() => new Promise<void>((resolve) => resolver.close(() => resolve())));
    const { port } = resolver.address() as AddressInfo;
    const networks = ['127.0.0.0/8'];
    const deaf = new AddressGuard({ allowedNetworks: networks, resolvers: [{ host: '127.0.0.1', port }] });
    expect(await testWith({ withinMs: 6_000 }, ['www.example.com', '127.0.0.1'], deaf)).toEqual([
      {
        host: 'www.example.com',
        address: '',
        status: 'connect_error',
        problem: 'There was no response in time.',
      },
      conclusive('127.0.0.1', '127.0.0.1'),
    ]);
  });

  it('that is not understood gets no response, rather than a wrong one', async () => {
    const question = { ...questionOn([]), hosts: ['localhost'] };
    expect(await probes.askTls(question, 500)).toBeNull();
    expect(await test([])).toEqual([]);
  });

  it('is counted by address', async () => {
    await test(['both.example.com', 'closed.example.com', 'text.example.com']);
    const text = await metrics.render();
    expect(text).toMatch(/installation_test_addresses_total\{status="conclusive",process="prober"\} [1-9]/);
    expect(text).toMatch(
      /installation_test_addresses_total\{status="connect_error",process="prober"\} [1-9]/,
    );
    expect(text).toMatch(
      /installation_test_addresses_total\{status="handshake_error",process="prober"\} [1-9]/,
    );
    expect(text).toMatch(/installation_test_addresses_total\{status="internal_error",process="prober"\} 0/);
    expect(text).toMatch(/installation_test_duration_seconds_count/);
  });
});
