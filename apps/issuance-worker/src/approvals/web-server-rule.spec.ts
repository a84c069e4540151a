import { neutralMessage } from '@certwright/outcome-messages';
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { coreDataSource, claimDeployment } from '@certwright/core-schema';
import { HttpChallenges, WebRules } from '@certwright/approvals';
import { type DnsName, DnsServer, parseName } from '@certwright/dns-authority';
import { ProbeQuestions } from '@certwright/redis';
import { freePort, startChild, testDatabase, testRedis } from '@certwright/testing';
import { HttpApprover } from './http-approver';
import { isNginxInstalled, type RunningNginx, startNginx } from '../testing/nginx';

const workspaceRoot = path.join(__dirname, '../../../..');
const [tenantA, tenantB] = ['1000000000001', '1000000000002'];
const [secretA, secretB] = ['a'.repeat(32), 'b'.repeat(32)];
const undo: (() => Promise<unknown>)[] = [];

/** All parts except the worker are processes: the customer's nginx, approval-responder and prober. */
const onNginx = isNginxInstalled ? describe : describe.skip;

onNginx(
  `a web server rule on a real nginx${isNginxInstalled ? '' : ' (skipped: nginx is not installed)'}`,
  () => {
    let approver: HttpApprover;

    beforeAll(async () => {
      for (const app of ['approval-responder', 'prober']) {
        execFileSync(process.execPath, ['tools/build/build.mjs', `apps/${app}`], { cwd: workspaceRoot });
      }
      const store = await testDatabase();
      undo.push(store.dispose);
      const redis = await testRedis();
      undo.push(redis.dispose);
      const database = coreDataSource({
        url: store.url,
        applicationName: 'spec',
        poolSize: 2,
        statementTimeoutMs: 10_000,
      });
      await database.initialize();
      undo.push(async () => await database.destroy());
      const asWorker = await coreDataSource({
        url: store.urlOf('issuance-worker'),
        applicationName: 'spec',
        poolSize: 2,
        statementTimeoutMs: 10_000,
      }).initialize();
      undo.push(async () => await asWorker.destroy());
      await claimDeployment(database, 'sandbox');
      const rules = new WebRules(database);
      for (const [account, secret] of [
        [tenantA, secretA],
        [tenantB, secretB],
      ] as const) {
        await database.query(`INSERT INTO account (id, name) VALUES ($1, 'Spec')`, [account]);
        await rules.ensure(account, () => secret);
      }
      const responderPort = await freePort();
      await startApp('approval-responder', {
        DATABASE_URL: store.urlOf('approval-responder'),
        ...redis.environment,
        PORT: String(responderPort),
      });
      const nginx = await startWebServers(`http://127.0.0.1:${responderPort}`);
      const dns = loopbackNames();
      const { host, port } = await dns.listen();
      undo.push(async () => await dns.close());
      await startApp('prober', {
        ...redis.environment,
        DNS_RESOLVERS: `${host}:${port}`,
        ALLOWED_NETWORKS: '127.0.0.0/8',
        HTTP_PORT: String(nginx.port),
        REDIRECT_PORTS: String(responderPort),
      });
      const silent = { warn: () => undefined, info: () => undefined };
      const probes = new ProbeQuestions(redis.access, { name: 'spec', log: silent });
      undo.push(async () => await probes.close());
      approver = new HttpApprover(
        new HttpChallenges(asWorker),
        new WebRules(asWorker),
        async (question) => await probes.ask(question, 5_000),
      );
    }, 60_000);

    afterAll(async () => {
      for (const step of undo.reverse()) await step();
    });

    const check = async (accountId: string, dnsName: string) => {
      const question = {
        accountId,
        planId: '1',
        dnsName,
        delegationLabel: '',
        parent: null,
        record: null,
        approverEmail: null,
        now: new Date(),
      };
      const result = await approver.check(question, new AbortController().signal);
      return result.approved ? result : { approved: false, message: neutralMessage(result.problem) };
    };
    const problem = (text: RegExp) => ({ approved: false, message: expect.stringMatching(text) as unknown });

    it.each(['redirect', 'proxy', 'proxy-with-host', 'redirect-over-another-name'])(
      'approves by %s',
      async (how) => {
        expect(await check(tenantA, `${how}.example.com`)).toEqual({ approved: true });
      },
    );

    it.each(['redirect', 'proxy'])(
      'never approves an order of tenant A by the rule of tenant B (%s)',
      async (how) => {
        expect(await check(tenantA, `${how}-of-b.example.com`)).toEqual(
          problem(/responded with status 404; it must redirect or proxy/),
        );
        expect(await check(tenantB, `${how}-of-b.example.com`)).toEqual({ approved: true });
        expect(await check(tenantB, `${how}.example.com`)).toEqual(problem(/responded with status 404/));
      },
    );

    it('does not approve by a proxy that received another name', async () => {
      expect(await check(tenantA, 'proxy-with-other-host.example.com')).toEqual(
        problem(/responded with status 404/),
      );
    });

    it('reports what it found, and where', async () => {
      expect(await check(tenantA, 'redirect-of-b.example.com')).toEqual(
        problem(
          new RegExp(`^http://redirect-of-b.example.com/.* leads to "http://127.0.0.1:\\d+/${secretB}/`),
        ),
      );
      expect(await check(tenantA, 'page.example.com')).toEqual(
        problem(/responded with another value of 8 characters instead of the challenge/),
      );
      expect(await check(tenantA, 'missing.example.net')).toEqual(
        problem(/missing\.example\.net.*; it must redirect or proxy/s),
      );
    });
  },
);

async function startApp(name: string, environment: Record<string, string>): Promise<void> {
  const args = [path.join(workspaceRoot, `dist/apps/${name}/main.js`)];
  const child = await startChild(process.execPath, { args, env: { ...environment, OPS_PORT: '0' } });
  undo.push(async () => await child.stop());
  await child.says(/"started"/, 30_000);
}

/** Customers' configurations, as the order shows them, and a few mistakes. */
async function startWebServers(approvalUrl: string): Promise<RunningNginx> {
  const below = (rule: string) => `location /.well-known/acme-challenge/ { ${rule} }`;
  const redirect = (secret: string) => below(`return 301 ${approvalUrl}/${secret}$request_uri;`);
  const proxy = (secret: string, also = '') =>
    below(`proxy_pass ${approvalUrl}/${secret}/.well-known/acme-challenge/; ${also}`);
  const nginx = await startNginx({
    'redirect.example.com': redirect(secretA),
    'proxy.example.com': proxy(secretA),
    'proxy-with-host.example.com': proxy(secretA, 'proxy_set_header X-Forwarded-Host $host;'),
    'proxy-with-other-host.example.com': proxy(
      secretA,
      'proxy_set_header X-Forwarded-Host other.example.com;',
    ),
    'redirect-over-another-name.example.com': below(
      'return 302 http://redirect.example.com:$server_port$request_uri;',
    ),
    'redirect-of-b.example.com': redirect(secretB),
    'proxy-of-b.example.com': proxy(secretB),
    'page.example.com': `location / { return 200 "Welcome!\\n"; }`,
  });
  undo.push(async () => await nginx.stop());
  return nginx;
}

/** A resolver that maps every name below example.com to this machine; no other name exists. */
function loopbackNames(): DnsServer {
  const apex = parseName('example.com') as DnsName;
  return new DnsServer({
    host: '127.0.0.1',
    port: 0,
    source: {
      read: (name) =>
        name === apex || name.endsWith(`.${apex}`)
          ? { apex, recordsAt: (at) => [{ name: at, type: 'A', ttl: 1, data: '127.0.0.1' }] }
          : undefined,
    },
  });
}
