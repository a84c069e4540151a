import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { EmailApprovals, HttpChallenges, IssuanceWakeUps, WebRules } from '@certwright/approvals';
import { Outbox, Transactions } from '@certwright/core-schema';
import { Mails } from '@certwright/delivery';
import { baseName } from '@certwright/dns-names';
import { freePort } from '@certwright/testing';
import type { DataSource } from 'typeorm';
import { DnsClient } from '@certwright/dns-lookup';
import { Approving, approvalZone } from '../testing/approving';
import { openIssuance, opensslCsr } from '../testing/opened-issuance';
import { approver as recording } from '../testing/recording-approver';
import type { ApprovalQuestion } from './approver';
import { DnsApprover } from './dns-approver';
import { EmailApprover } from './email-approver';
import { HttpApprover, type Probe } from './http-approver';
import { parentDelegation } from './parent-delegation';
import { describeApprover, type Outside, type Tenant } from './testing/approver-suite';

const accounts: Readonly<Record<Tenant, string>> = { a: '8100001', b: '8100002' };
const dayMs = 86_400_000;
const reuseMs = 200 * dayMs;
const csr = opensslCsr(['example.com']);

let approving: Approving;
const closing: (() => unknown)[] = [];
beforeAll(async () => {
  approving = await Approving.open(accounts.a, ['example.com']);
  await approving.database.query(`INSERT INTO account (id, name) VALUES ($1, 'Spec')`, [accounts.b]);
}, 60_000);
afterAll(async () => {
  for (const step of closing.reverse()) await step();
  await approving.close();
});

/** For an order with that one name; each email goes to a separate address. */
async function question(tenant: Tenant, dnsName: string): Promise<ApprovalQuestion> {
  const accountId = accounts[tenant];
  const approverEmail = `${tenant}@${baseName(dnsName)}`;
  const ordered = { product: 'paid_ca', approverEmails: { [dnsName]: approverEmail } };
  const { repositories } = approving.issuing;
  const { planId } = await openIssuance(repositories, [dnsName], csr, accountId, ordered);
  const [{ label, now }] = await approving.database.query<[{ label: string; now: Date }]>(
    `SELECT label, now() AS now FROM delegation WHERE account_id = $1 AND dns_name = $2`,
    [accountId, baseName(dnsName)],
  );
  const none = { parent: null, record: null };
  return { accountId, planId, dnsName, delegationLabel: label, approverEmail, now, ...none };
}

/** A data source that cannot connect. */
const broken = {
  query: async () => await Promise.reject(new Error('Connection terminated')),
  transaction: async () => await Promise.reject(new Error('Connection terminated')),
} as unknown as DataSource;

async function rowsIn(...tables: readonly string[]): Promise<number> {
  const counts = tables.map((table) => `(SELECT count(*) FROM ${table})`).join(' + ');
  const [row] = await approving.database.query<[{ count: number }]>(`SELECT (${counts})::int AS count`);
  return row.count;
}

describeApprover({
  name: 'the DNS record',
  setUp: async () => {
    const deaf = createSocket('udp4').bind(0, '127.0.0.1');
    await once(deaf, 'listening');
    const at = (port: number) => new DnsClient({ server: { host: '127.0.0.1', port }, timeoutMs: 60_000 });
    const clients = { unreachable: at(await freePort()), silent: at(deaf.address().port) };
    closing.push(() => {
      clients.unreachable.close();
      clients.silent.close();
      deaf.close();
    });
    let outside: Outside = 'reachable';
    const { lookUp: reachable, nameServers } = approving.network;
    const lookUp: typeof reachable = async (...question) =>
      await (outside === 'reachable' ? reachable : clients[outside].lookUp)(...question);
    const doubt = async () => await Promise.resolve();
    const publish = (target: string | null) => async (question: ApprovalQuestion) => {
      const record = `_acme-challenge.${baseName(question.dnsName)}`;
      approving.network.publish(record, target && `${question.delegationLabel}.${target}`);
      return await Promise.resolve();
    };
    return {
      approver: new DnsApprover(lookUp, approvalZone, doubt, parentDelegation(lookUp, nameServers)),
      question,
      approve: publish(approvalZone),
      withdraw: publish(null),
      setOutside: (state) => (outside = state),
    };
  },
  cannot: {
    effects: 'it only looks',
    database: 'it needs none',
    age: 'a record is there or not',
  },
});

describeApprover({
  name: 'the web server rule',
  setUp: async () => {
    const rules = new WebRules(approving.database);
    const secrets = new Map<string, string>();
    for (const [tenant, accountId] of Object.entries(accounts))
      secrets.set(accountId, await rules.ensure(accountId, () => tenant.repeat(32)));
    let outside: Outside = 'reachable';
    /** Name → account whose rule the web server has. */
    const ruled = new Map<string, string>();
    const challenges = new HttpChallenges(approving.database);
    const probe: Probe = async ({ dnsName, path }) => {
      if (outside === 'silent') return await new Promise(() => undefined);
      if (outside === 'unreachable')
        return { kind: 'failed', problem: `http://${dnsName}${path} could not be connected to.`, hops: [] };
      const secret = secrets.get(ruled.get(dnsName) ?? '') ?? 'unknown';
      const response = await challenges.answerFor(secret, path.split('/').at(-1) ?? '');
      const [status, body] = response === null ? [404, ''] : [200, response.content];
      return {
        kind: 'answered',
        status,
        body,
        hops: [{ url: `http://${dnsName}${path}`, status, address: '127.0.0.1' }],
      };
    };
    return {
      approver: new HttpApprover(challenges, rules, probe),
      question,
      approve: async ({ dnsName, accountId }) => {
        ruled.set(dnsName, accountId);
        return await Promise.resolve();
      },
      withdraw: async ({ dnsName }) => {
        ruled.delete(dnsName);
        return await Promise.resolve();
      },
      effects: async () => await rowsIn('http_challenge'),
      setOutside: (state: Outside) => (outside = state),
      withoutDatabase: () => new HttpApprover(new HttpChallenges(broken), rules, probe),
    };
  },
  cannot: {
    bare: "the rule is the account's, for all names",
    wildcards: 'Baseline Requirements, sections 3.2.2.4.18 and 3.2.2.4.19',
    age: 'a rule is there or not',
  },
});

describeApprover({
  name: 'the email',
  setUp: async () => {
    const emailsOver = (database: DataSource) => {
      const wakeUps = new IssuanceWakeUps(database, new Outbox(database));
      return new EmailApprovals(database, new Transactions(database), new Mails(database), wakeUps);
    };
    const approver = new EmailApprover(emailsOver(approving.database), reuseMs);
    return await Promise.resolve({
      approver,
      question,
      approve: async (question) => {
        await approver.check(question);
        await approving.approveByEmail(question.planId, question.dnsName);
      },
      effects: async () => await rowsIn('mail', 'email_approval'),
      withoutDatabase: () => new EmailApprover(emailsOver(broken), reuseMs),
      outlive: (question) => ({ ...question, now: new Date(question.now.getTime() + reuseMs + dayMs) }),
    });
  },
  cannot: {
    withdraw: 'a person’s approval cannot be withdrawn',
    outside: 'a check only reads and writes our database',
  },
});

for (const method of ['dns', 'http', 'email'] as const)
  describeApprover({
    name: `the recording test double (${method})`,
    setUp: async () => {
      const approved: string[] = [];
      return await Promise.resolve({
        approver: recording(method, approved),
        question: async (tenant, dnsName) => {
          const question = { accountId: accounts[tenant], planId: '1', dnsName, delegationLabel: 'label' };
          const none = { parent: null, record: null, now: new Date() };
          return await Promise.resolve({ ...question, ...none, approverEmail: 'admin@example.com' });
        },
        // A record approves a name and its wildcard.
        approve: async ({ dnsName }) =>
          void (await Promise.resolve(
            approved.push(dnsName, ...(method === 'dns' ? [baseName(dnsName)] : [])),
          )),
        withdraw: async () => void (await Promise.resolve(approved.splice(0))),
      });
    },
    cannot: {
      tenants: 'it approves names',
      ...(method === 'http' ? { bare: 'as the real one', wildcards: 'as the real one' } : {}),
      effects: 'it has none',
      outside: 'it has none',
      database: 'it needs none',
      age: 'the spec says when',
    },
  });
