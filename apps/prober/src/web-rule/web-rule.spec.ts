import { createServer as createTlsServer, type Server } from 'node:https';
import type { RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { execFileSync } from 'node:child_process';
import type { WebRuleAnswer } from '@certwright/jobs';
import { AddressGuard } from '@certwright/outbound';
import { ProbeQuestions } from '@certwright/redis';
import { createLogger, Metrics, Readiness, type RunningProcess } from '@certwright/service';
import { testRedis, type TestRedis } from '@certwright/testing';
import { settings } from '../config';
import { start } from '../start';
import { WebRuleProbe } from './web-rule-probe';
import { serveLoopbackNames } from '../testing/loopback-names';
import { redirectsTo, says, serveSite, type WebSite } from '../testing/web-site';

const log = createLogger('spec', 'silent');
const metrics = new Metrics('prober');
const undo: (() => unknown)[] = [];
let redis: TestRedis;
let site: WebSite;
let secure: Server;
let probes: ProbeQuestions;
let guard: AddressGuard;

const chain = (length: number) =>
  Object.fromEntries(
    Array.from({ length }, (_, at) => [`/chain-${length}-${at}`, redirectsTo(`/chain-${length}-${at + 1}`)]),
  );
const securePort = () => (secure.address() as AddressInfo).port;

beforeAll(async () => {
  redis = await testRedis();
  undo.push(() => redis.dispose());
  const names = await serveLoopbackNames({
    'inner.example.com': '10.0.0.7',
    'metadata.example.com': '169.254.169.254',
  });
  undo.push(() => names.close());
  guard = new AddressGuard({ allowedNetworks: ['127.0.0.0/8'], resolvers: [names.address] });
  secure = await serveSelfSigned();
  undo.push(() => secure.close());
  site = await serveSite({
    '/rule': ({ headers }, response) => void response.end(`rule for ${headers['user-agent']}`),
    '/moved': redirectsTo('/rule', 301),
    '/host': (_request, response) =>
      redirectsTo(`http://user:secret@other.example.com:${site.port}/rule`)(_request, response),
    '/secure': (request, response) =>
      redirectsTo(`https://www.example.com:${securePort()}/rule`)(request, response),
    ...chain(10),
    '/chain-10-10': says('the end'),
    ...chain(11),
    '/chain-11-11': says('too far'),
    '/circle': redirectsTo('/round'),
    '/round': redirectsTo('/circle'),
    '/metadata': redirectsTo('http://169.254.169.254/latest/meta-data/'),
    '/inner': (request, response) => redirectsTo(`http://inner.example.com:${site.port}/`)(request, response),
    '/self': (request, response) => redirectsTo(`http://[::ffff:10.0.0.1]:${site.port}/`)(request, response),
    '/file': redirectsTo('file:///etc/passwd'),
    '/port': redirectsTo('http://www.example.com:6379/'),
    '/large': says(Buffer.alloc(65_537, 'a')),
    '/long': says(Buffer.alloc(65_536, 'ä')),
    '/slow': (_request, response) => void response.writeHead(200).write('never ends'),
    // Each hop alone is quick enough.
    ...Object.fromEntries(
      Array.from({ length: 10 }, (_, hop): [string, RequestListener] => [
        `/slow-hops-${hop}`,
        (request, response) => void setTimeout(redirectsTo(`/slow-hops-${hop + 1}`), 200, request, response),
      ]),
    ),
    '/reset': ({ socket }) => socket.resetAndDestroy(),
    '/missing': says('no such rule', 404),
    '/binary': says(Buffer.from([0x61, 0xff, 0x62])),
  });
  undo.push(() => site.close());
  const config = settings.read({
    ...redis.environment,
    DNS_RESOLVERS: `${names.address.host}:${names.address.port}`,
    ALLOWED_NETWORKS: '127.0.0.0/8',
    HTTP_PORT: String(site.port),
    REDIRECT_PORTS: `80,443,${securePort()}`,
  });
  const running = {
    name: 'prober',
    log,
    metrics,
    readiness: new Readiness(),
    opened: (_: string, close: () => unknown) => void undo.push(close),
  };
  await start(config, running);
  probes = new ProbeQuestions(redis.access, { name: 'spec', log });
  undo.push(() => probes.close());
});
afterAll(async () => {
  for (const step of undo.reverse()) await step();
});

/** Self-signed, for another name: what a CA overlooks when it validates. */
async function serveSelfSigned(): Promise<Server> {
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', '-'];
  const pem = execFileSync('openssl', ['req', '-x509', ...newKey, '-subj', '/CN=old.example'], {
    stdio: 'pipe',
  });
  const server = createTlsServer({ key: pem, cert: pem }, (_request, response) =>
    response.end('rule over TLS'),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

const probe = (path: string, dnsName = 'www.example.com'): Promise<WebRuleAnswer> =>
  probes.ask({ dnsName, path });
const at = (path: string, host = 'www.example.com') => `http://${host}:${site.port}${path}`;
const hop = (url: string, status: number) => ({ url, status, address: '127.0.0.1' });

describe('a web server rule', () => {
  it('is requested from the addresses of the name, with our user agent', async () => {
    expect(await probe('/rule')).toEqual({
      kind: 'answered',
      status: 200,
      body: expect.stringMatching(/^rule for Mozilla\/5\.0 \(compatible; Certwright-Prober;/) as string,
      hops: [hop(at('/rule'), 200)],
    });
  });

  it('is followed over redirects to other paths and hosts, without the user and password in them', async () => {
    expect(await probe('/moved')).toMatchObject({
      kind: 'answered',
      hops: [hop(at('/moved'), 301), hop(at('/rule'), 200)],
    });
    expect(await probe('/host')).toMatchObject({
      kind: 'answered',
      hops: [hop(at('/host'), 302), hop(at('/rule', 'other.example.com'), 200)],
    });
  });

  it('is read over https whatever the certificate, as CAs do', async () => {
    expect(await probe('/secure')).toMatchObject({ kind: 'answered', body: 'rule over TLS' });
  });

  it('is read after ten redirects, and not after eleven', async () => {
    const ten = await probe('/chain-10-0');
    expect(ten).toMatchObject({ kind: 'answered', body: 'the end' });
    expect(ten.hops).toHaveLength(11);
    const eleven = await probe('/chain-11-0');
    expect(eleven).toMatchObject({
      kind: 'failed',
      problem: expect.stringContaining('10 redirects') as string,
    });
    expect(eleven.hops).toHaveLength(11);
    expect(site.requests).not.toContain('GET www.example.com /chain-11-11');
  });

  it.each([
    ['/circle', 'in a circle, back to'],
    ['/metadata', 'http://169.254.169.254/latest/meta-data/: The address is not public (link-local'],
    ['/inner', 'inner.example.com has an address that is not public (private use'],
    ['/self', 'not public (private use'],
    ['/file', 'neither http nor https'],
    ['/port', 'redirects to port 6379'],
    ['/large', 'responds with more than 64 KiB'],
    ['/reset', 'closed before the response was complete'],
  ])('at %s fails with a message for the customer', async (path, message) => {
    const result = await probe(path);
    expect(result).toMatchObject({ kind: 'failed', problem: expect.stringContaining(message) as string });
  });

  it('is refused where the name itself leads inside, is a wildcard, or does not exist', async () => {
    const problems = async (dnsName: string) => {
      const result = await probe('/rule', dnsName);
      return result.kind === 'failed' ? result.problem : 'answered';
    };
    expect(await problems('metadata.example.com')).toContain('not public (link-local');
    expect(await problems('*.example.com')).toContain('wildcard');
    expect(await problems('www.example.net')).toMatch(/www\.example\.net/);
  });

  it('is evaluated by the caller: another status is a response too', async () => {
    expect(await probe('/missing')).toMatchObject({ kind: 'answered', status: 404, body: 'no such rule' });
  });

  it('is answered with 4 KiB at most, as text', async () => {
    const long = await probe('/long');
    expect(long.kind === 'answered' && Buffer.from(long.body).length).toBe(4_096);
    expect(await probe('/binary')).toMatchObject({ kind: 'answered', body: 'a\uFFFDb' });
  });

  it.each(['/slow', '/slow-hops-0'])(
    'that never ends is given up after the time that all hops have together: %s',
    async (path) => {
      const quick = new WebRuleProbe(guard, { HTTP_PORT: site.port, REDIRECT_PORTS: [] }, {
        metrics: new Metrics('spec'),
      } as RunningProcess);
      quick.withinMs = 500;
      expect(await quick.respond({ dnsName: 'www.example.com', path })).toMatchObject({
        kind: 'failed',
        problem: expect.stringContaining(
          'returned no complete response within the 0.5 s that all hops have together.',
        ) as string,
      });
    },
  );

  it('is counted by outcome', async () => {
    const text = await metrics.render();
    expect(text).toMatch(/web_rule_probes_total\{outcome="answered",process="prober"\} [1-9]/);
    expect(text).toMatch(/web_rule_probes_total\{outcome="refused_address",process="prober"\} 4/);
    expect(text).toMatch(/web_rule_probe_duration_seconds_count/);
  });
});
