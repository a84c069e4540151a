import { Transactions } from '@certwright/core-schema';
import { AccountEvents, Mails } from '@certwright/delivery';
import {
  type AddressLook,
  CaKeys,
  type Look,
  type LookQuestion,
  type LookUp,
} from '@certwright/endpoint-checks';
import { createLogger, Metrics, type RunningProcess } from '@certwright/service';
import type { ProbeQuestions } from '@certwright/redis';
import { Forge, type Forged } from '@certwright/testing';
import type { DataSource } from 'typeorm';
import { CheckEndpoints } from '../endpoints/check-endpoints';
import { CheckLooks } from '../endpoints/check-looks';
import { DueEndpoints } from '../endpoints/due-endpoints.repository';
import { EndpointEvents } from '../endpoints/endpoint-events';
import { EndpointReports } from '../endpoints/endpoint-reports';
import { EndpointValve } from '../endpoints/endpoint-valve';
import { ReadIndexFacts } from '../endpoints/index-facts';
import { KnownCertificates } from '../endpoints/known-certificates';
import { StoreChecks } from '../endpoints/store-checks';
import type { TaskLease } from '../tasks/task-leases';
import { FindingsFixture } from './findings-fixture';

export const minuteMs = 60_000;
export const hourMs = 60 * minuteMs;

/** What the servers of a host present: a chain, or why nothing is. Null: no prober responds. */
export type Served = readonly Forged[] | 'no_name' | 'failed' | 'connect' | null;

const limits = {
  ENDPOINT_CHECK_EVERY: 6 * hourMs,
  ENDPOINT_CONFIRM_EVERY: 9 * minuteMs,
  ENDPOINT_CHECKS_AT_ONCE: 100,
  ENDPOINT_CHECKS_PER_SECOND: 10_000,
  OPERATOR_MAIL: 'operator@example.net',
  CT_INDEX_SCOPE: 'all',
  LEASE_TIME: 60_000,
} as const;

/** Servers that a fake prober looks at, at a time that the spec decides. */
export class EndpointsFixture {
  readonly forge = new Forge();
  readonly root = this.forge.make({ isCa: true, days: 3_000 });
  readonly ca = this.forge.make({ by: this.root, isCa: true, days: 2_000 });
  /** The only root that visitors trust. */
  trusted = this.root;
  /** Lines of the log, warnings at least. */
  readonly logged: string[] = [];
  now = new Date();
  /** What `host` presents at `now`. */
  serve: (host: string, port: number) => Served = () => null;
  readonly questions: LookQuestion[] = [];
  /** A fake one, unless the spec starts a real one. */
  prober: Pick<ProbeQuestions, 'askLook'> = {
    askLook: async (question) => await Promise.resolve(this.look(question)),
  };
  lease!: TaskLease;
  checks!: CheckEndpoints;
  valve!: EndpointValve;

  private constructor(readonly findings: FindingsFixture) {}

  static async open(): Promise<EndpointsFixture> {
    const fixture = new EndpointsFixture(await FindingsFixture.open());
    await fixture.use({});
    return fixture;
  }

  async close(): Promise<void> {
    this.forge.dispose();
    await this.findings.close();
  }

  /** A process that starts, and holds the lease. @param core its database */
  async use(changed: Partial<Record<keyof typeof limits, unknown>>, core?: DataSource): Promise<void> {
    this.lease = await this.findings.lease('endpoints');
    const database = core ?? this.findings.asWorker;
    const config = { ...limits, ...changed } as typeof limits;
    const running = {
      log: createLogger('spec', 'warn', { write: (line) => void this.logged.push(line) }),
      metrics: new Metrics('spec'),
    } as unknown as RunningProcess;
    const transactions = new Transactions(database);
    const events = new EndpointEvents(database, running);
    this.valve = new EndpointValve(transactions, new Mails(database), events, config);
    this.checks = new CheckEndpoints(
      new DueEndpoints(database, transactions, config),
      new CheckLooks(
        database,
        new ReadIndexFacts(this.findings.ctAsWorker, running, config),
        new KnownCertificates(database),
        { current: async () => await Promise.resolve(CaKeys.ofCertificates([this.trusted.der])) },
      ),
      new StoreChecks(transactions, new EndpointReports(new AccountEvents()), this.valve, events, config),
      this.prober,
      config,
    );
  }

  leaf(...dnsNames: readonly string[]): readonly Forged[] {
    return [this.forge.make({ by: this.ca, dnsNames, days: 200 }), this.ca];
  }

  /** An account that monitors `.example.com`, with endpoints that are due now. */
  async account(...names: readonly string[]): Promise<string> {
    const account = await this.findings.account();
    await this.findings.core.query(
      `INSERT INTO monitored_domain (account_id, name, enabled) VALUES ($1, '.example.com', true)`,
      [account],
    );
    await this.add(account, names);
    return account;
  }

  async add(account: string, names: readonly string[], ports: readonly number[] = [443]): Promise<void> {
    await this.findings.core.query(
      `INSERT INTO monitored_endpoint (account_id, dns_name, ports, check_due_at)
       SELECT $1, name, $3, $4 FROM unnest($2::text[]) AS name`,
      [account, names, ports, this.now],
    );
  }

  /** Everything that is due at `now`. */
  async step(): Promise<void> {
    // The pace of a process that has just started allows something only when time passes.
    await this.checks.step(this.lease, this.now);
    await this.checks.settled();
    this.now = new Date(this.now.getTime() + 1_000);
    for (let hasMore = true; hasMore;) {
      hasMore = await this.checks.step(this.lease, this.now);
      await this.checks.settled();
      this.now = new Date(this.now.getTime() + 1);
    }
  }

  /**
   * What happens until then, at the times at which endpoints are due.
   *
   * @param tickMs checks that are due within this time are made together
   */
  async pass(ms: number, tickMs = 4 * minuteMs): Promise<void> {
    const end = this.now.getTime() + ms;
    for (;;) {
      const [{ due }] = await this.findings.core.query<[{ due: Date | null }]>(
        `SELECT min(check_due_at) AS due FROM monitored_endpoint`,
      );
      const nextMs = Math.max(this.now.getTime() + tickMs, due?.getTime() ?? end);
      if (nextMs >= end) break;
      this.now = new Date(nextMs);
      await this.step();
      await this.valve.turn(this.lease, this.now);
    }
    this.now = new Date(Math.max(end, this.now.getTime()));
    while (await this.valve.turn(this.lease, this.now));
  }

  async endpoint(
    account: string,
    name: string,
  ): Promise<Record<string, unknown> & { state: string; findings: { code: string }[] }> {
    const [row] = await this.findings.core.query(
      `SELECT * FROM monitored_endpoint WHERE account_id = $1 AND dns_name = $2`,
      [account, name],
    );
    return row;
  }

  /** `problem www.example.com: expired`, in their order. */
  async sent(account: string): Promise<readonly string[]> {
    const rows = await this.findings.core.query<{ event: string; body: string }[]>(
      `SELECT event, body FROM webhook_delivery WHERE account_id = $1
       ORDER BY substr(subject, length('endpoint_report:') + 1)::bigint`,
      [account],
    );
    return rows.map(({ event, body }) => {
      const { dns_name, findings } = JSON.parse(body) as {
        dns_name: string;
        findings: readonly { finding: string }[];
      };
      return `${event.replace('monitoring.endpoint_', '')} ${dns_name}: ${findings.map(({ finding }) => finding).join()}`;
    });
  }

  async mails(
    account: string | null,
  ): Promise<readonly { kind: string; occasion: string; reports: number }[]> {
    return await this.findings.core.query(
      `SELECT kind, facts->>'occasion' AS occasion, jsonb_array_length(facts->'reportIds') AS reports
       FROM mail WHERE account_id IS NOT DISTINCT FROM $1 ORDER BY id`,
      [account],
    );
  }

  async sendMails(): Promise<void> {
    await this.findings.mails.send(await this.findings.lease('mail'));
  }

  private look(question: LookQuestion): Look | null {
    this.questions.push(question);
    const certificates: string[] = [];
    const hosts: Look['hosts'][number][] = [];
    for (const { host, ports } of question.hosts) {
      const addresses: AddressLook[] = [];
      let lookUp: LookUp = { kind: 'found' };
      for (const port of ports) {
        const served = this.serve(host, port);
        if (served === null) return null;
        if (served === 'no_name') lookUp = { kind: 'no_name' };
        else if (served === 'failed') lookUp = { kind: 'failed', failure: 'timeout' } as LookUp;
        else if (served === 'connect')
          addresses.push({
            ...{ address: '192.0.2.1', port },
            result: { kind: 'not_presented', reason: 'connect', problem: 'The connection was refused.' },
          });
        else {
          const chain = served.map(({ der }) => certificates.push(der.toString('base64')) - 1);
          const tls = { version: 'TLSv1.3', cipher: 'TLS_AES_128_GCM_SHA256', httpStatus: 200 };
          addresses.push({ address: '192.0.2.1', port, result: { kind: 'presented', chain, ...tls } });
        }
      }
      hosts.push({ host, lookUp, addresses, omitted: 0 });
    }
    return { hosts, certificates };
  }
}
