import { createHash, generateKeyPairSync, randomBytes, randomInt, sign } from 'node:crypto';
import { coreDataSource, type MonitoringTaskName, Transactions } from '@certwright/core-schema';
import { readIssued, tbsSha256 } from '@certwright/ct';
import { IssuerIds, type NewIssuance, type NewIssuer, packBody, storeIssuances } from '@certwright/ct-index';
import { ctDataSource } from '@certwright/ct-schema';
import { anIssuance, ctTestDatabase } from '@certwright/ct-testing';
import { AccountEvents, Mails } from '@certwright/delivery';
import { noCaaAnswer } from '@certwright/jobs';
import { MonitoredDomainIndex } from '@certwright/monitored-domains';
import { encodeInteger, encodeObjectIdentifier, encodeTime, encodeTlv } from '@certwright/pki';
import { Metrics, type RunningProcess } from '@certwright/service';
import { testDatabase } from '@certwright/testing';
import type { DataSource } from 'typeorm';
import { AlertMetrics } from '../alerts/alert-metrics';
import { DueAlerts } from '../alerts/due-alerts.repository';
import { IndexedIssuances } from '../alerts/indexed-issuances';
import { PrepareAlerts } from '../alerts/prepare-alerts';
import { PublishedCaa } from '../alerts/published-caa';
import { SendAlerts } from '../alerts/send-alerts';
import { AlertWakeUp } from '../findings/alert-wake-up';
import { Classifying } from '../findings/classifying';
import { ExamineFindings } from '../findings/examine-findings';
import { FindingEvents } from '../findings/finding-events';
import { FindingMetrics } from '../findings/finding-metrics';
import { IssuerSignatures } from '../findings/issuer-signature';
import { type ConcernedIssuance, type Recorded, RecordFindings } from '../findings/record-findings';
import { GatheredMails } from '../gathered-mail/gathered-mail';
import { Housekeeping } from '../housekeeping/housekeeping';
import { SendMails } from '../mails/send-mails';
import { Heartbeats } from '../mails/heartbeats';
import type { LeasedRounds } from '../tasks/leased-rounds';
import { type TaskLease, TaskLeases } from '../tasks/task-leases';

const settings = { applicationName: 'spec', poolSize: 6, statementTimeoutMs: 30_000 };

export interface FindingRow {
  readonly account: string;
  readonly tbs: string;
  readonly state: string;
  readonly reason: string;
  readonly planId: string | null;
  readonly dnsNames: readonly string[];
  readonly alertIsDue: boolean;
  readonly mailDue: boolean;
  readonly alert: { readonly change: unknown; readonly caa: string } | null;
}

/** Rounds are called by the specs. */
const noRounds = { add: () => undefined } as unknown as LeasedRounds;

/** Both databases, with what accounts and ct-ingest write, and the tasks with the grants of the process. */
export class FindingsFixture {
  readonly metrics = new Metrics('spec');
  readonly record: RecordFindings;
  readonly classifying: Classifying;
  readonly alerts: SendAlerts;
  readonly mails: SendMails;
  readonly heartbeats: Heartbeats;
  readonly housekeeping: Housekeeping;
  readonly transactions: Transactions;
  private readonly ids = new IssuerIds();
  /** Answers of the prober. */
  caa = async () => await Promise.resolve(noCaaAnswer);

  private constructor(
    readonly core: DataSource,
    readonly ct: DataSource,
    readonly asWorker: DataSource,
    readonly ctAsWorker: DataSource,
    readonly close: () => Promise<void>,
  ) {
    const running = { metrics: this.metrics } as RunningProcess;
    const events = new AccountEvents();
    const mails = new Mails(asWorker);
    const findingMetrics = new FindingMetrics(running);
    this.transactions = new Transactions(asWorker);
    this.record = new RecordFindings(ctAsWorker, new FindingEvents(events, mails), findingMetrics);
    const examine = new ExamineFindings(
      asWorker,
      this.transactions,
      new IssuerSignatures(ctAsWorker),
      events,
      findingMetrics,
    );
    this.classifying = new Classifying(noRounds, asWorker, examine, new AlertWakeUp());
    this.alerts = new SendAlerts(
      new DueAlerts(asWorker),
      new PrepareAlerts(
        new IndexedIssuances(ctAsWorker),
        new PublishedCaa({ askCaa: async () => await this.caa() }),
        { SEARCH_URL: 'https://search.example.net' },
      ),
      events,
      this.transactions,
      new AlertMetrics(running),
    );
    this.heartbeats = new Heartbeats(ctAsWorker, this.transactions, mails);
    const gathered = new GatheredMails(asWorker, this.transactions, mails);
    this.mails = new SendMails(noRounds, asWorker, gathered, this.heartbeats);
    this.housekeeping = new Housekeeping(noRounds, this.transactions);
  }

  static async open(): Promise<FindingsFixture> {
    const [coreTest, ctTest] = [await testDatabase(), await ctTestDatabase()];
    const core = await coreDataSource({ url: coreTest.url, ...settings }).initialize();
    const ct = await ctDataSource({ url: ctTest.url, ...settings }).initialize();
    const role = 'monitoring-worker';
    const asWorker = await coreDataSource({ url: coreTest.urlOf(role), ...settings }).initialize();
    const ctAsWorker = await ctDataSource({ url: ctTest.urlOf(role), ...settings }).initialize();
    return new FindingsFixture(core, ct, asWorker, ctAsWorker, async () => {
      await Promise.all([core, ct, asWorker, ctAsWorker].map(async (each) => await each.destroy()));
      await Promise.all([coreTest.dispose(), ctTest.dispose()]);
    });
  }

  /** With an address, and a webhook that selected all of monitoring. */
  async account(): Promise<string> {
    const id = String(randomInt(1, 2 ** 47));
    await this.core.query(
      `INSERT INTO account (id, name, contact_email) VALUES ($1, 'Spec', 'ops@example.com')`,
      [id],
    );
    await this.core.query(
      `INSERT INTO webhook_endpoint (id, account_id, url, secret_sealed, description, enabled, events)
       VALUES ($1, $2, 'https://hooks.example.com/', '', '', true, '{monitoring.*}')`,
      [randomInt(1, 2 ** 47), id],
    );
    return id;
  }

  async settings(account: string, change: Readonly<Record<string, unknown>>): Promise<void> {
    const row = {
      authorized_cas: [],
      alert_delay_minutes: 0,
      certificate_mail: 'at_once',
      endpoint_mail: 'at_once',
      digest_hour_utc: 6,
      heartbeat: 'weekly',
      ...change,
    };
    await this.core.query(
      `INSERT INTO monitoring_settings SELECT * FROM jsonb_populate_record(NULL::monitoring_settings, $1)`,
      [JSON.stringify({ ...row, account_id: account })],
    );
  }

  /** A plan of the account with terms for a key and names. */
  async terms(
    account: string,
    spkiSha256: string,
    dnsNames: readonly string[],
    isOpen = false,
  ): Promise<string> {
    const [{ plan }] = await this.core.query<[{ plan: string }]>(
      `INSERT INTO plan (account_id, revision, auto_renew, muted, paused, download_token)
       VALUES ($1, 1, true, false, false, $2) RETURNING id AS plan`,
      [account, randomBytes(20).toString('base64url')],
    );
    const [{ terms }] = await this.core.query<[{ terms: string }]>(
      `INSERT INTO terms (plan_id, product, dns_names, key_type, csr, spki_sha256, approver_emails)
       VALUES ($1, 'free_ca', $2, 'ecdsa', '', decode($3, 'hex'), '{}') RETURNING id AS terms`,
      [plan, dnsNames, spkiSha256],
    );
    if (isOpen)
      await this.core.query(
        `INSERT INTO issuance (plan_id, account_id, terms_id, revision, state, approvals, due_at)
         VALUES ($1, $2, $3, 1, 'open', '[]', now())`,
        [plan, account, terms],
      );
    return plan;
  }

  /** A certificate of the account's plan, as an import adds it. */
  async certificate(account: string, planId: string, tbsSha256: string): Promise<void> {
    await this.core.query(
      `WITH chain AS (INSERT INTO certificate_chain (sha256, chain, root) VALUES ($4, '{}', '') RETURNING sha256)
       INSERT INTO certificate (id, account_id, plan_id, imported, is_current, dns_names, key_type, serial_number,
         not_before, not_after, sha256, spki_sha256, leaf, chain_sha256, tbs_sha256)
       SELECT random_id(), $1, $2, true, false, '{imported.example.net}', 'ecdsa', '01', now(), now() + interval '1 day',
         $4, $4, '', sha256, decode($3, 'hex') FROM chain`,
      [account, planId, tbsSha256, randomBytes(32)],
    );
  }

  /** As apps/monitoring does. */
  async known(
    account: string,
    given: { readonly tbs: string } | { readonly spki: string; readonly names: readonly string[] },
  ): Promise<void> {
    const id = randomInt(1, 2 ** 47);
    const object = 'tbs' in given ? 'known_cert' : 'known_key';
    if ('tbs' in given)
      await this.core.query(
        `INSERT INTO known_cert (id, account_id, tbs_sha256, note) VALUES ($1, $2, decode($3, 'hex'), '')`,
        [id, account, given.tbs],
      );
    else
      await this.core.query(
        `INSERT INTO known_key (id, account_id, spki_sha256, dns_names, dns_names_sha256, note)
         VALUES ($1, $2, decode($3, 'hex'), $4, $5, '')`,
        [id, account, given.spki, given.names, createHash('sha256').update(given.names.join('\n')).digest()],
      );
    await this.change(account, object, String(id));
  }

  async change(account: string, object: string, name: string): Promise<void> {
    await this.core.query(
      `INSERT INTO monitoring_change (transaction_id, account_id, object, name, action, after)
       VALUES (pg_current_xact_id()::text::bigint, $1, $2, $3, 'created', '{}')`,
      [account, object, name],
    );
  }

  /** Stores issuances as ct-ingest does, and records them for accounts with monitored domains as the follower does. */
  async find(
    domains: Readonly<Record<string, readonly string[]>>,
    issuances: readonly NewIssuance[],
    source: 'stream' | 'backfill' = 'stream',
  ): Promise<Recorded> {
    await this.ids.ensure(
      this.ct.manager,
      issuances.map(({ issuer }) => issuer),
    );
    await this.ct.transaction(
      async (tx) =>
        await storeIssuances(
          tx,
          this.ids,
          issuances,
          issuances.map(() => null),
        ),
    );
    const rows = await this.ct.query<Omit<ConcernedIssuance, 'accounts'>[]>(
      `SELECT position, tbs_sha256 AS "tbsSha256", spki_sha256 AS "spkiSha256", issuer, not_before AS "notBefore",
         not_after AS "notAfter", dns_names AS "dnsNames"
       FROM ct_issuance WHERE tbs_sha256 = ANY ($1) ORDER BY position`,
      [issuances.map(({ tbsSha256: tbs }) => Buffer.from(tbs, 'hex'))],
    );
    const index = new MonitoredDomainIndex();
    for (const [account, names] of Object.entries(domains))
      for (const name of names) index.set(account, name, true);
    const concerned = rows.map((row) => ({ ...row, accounts: index.match(row.dnsNames).accounts }));
    return await this.recordAll(concerned, source);
  }

  async recordAll(
    concerned: readonly ConcernedIssuance[],
    source: 'stream' | 'backfill' = 'stream',
  ): Promise<Recorded> {
    const keys = concerned.flatMap(({ accounts }) =>
      accounts.flatMap(({ account, names }) =>
        names.map(({ monitoredDomain }) => ({ account, monitoredDomain })),
      ),
    );
    await this.core.query(
      `INSERT INTO monitored_domain (account_id, name, enabled)
       SELECT given.*, true FROM unnest($1::bigint[], $2::text[]) AS given (account_id, name)
       JOIN account ON account.id = account_id ON CONFLICT DO NOTHING`,
      [keys.map(({ account }) => account), keys.map(({ monitoredDomain }) => monitoredDomain)],
    );
    return await this.transactions.run(
      async (tx) => await this.record.record(tx, concerned, source, source === 'stream' ? null : '1'),
    );
  }

  async lease(task: MonitoringTaskName): Promise<TaskLease> {
    await this.core.query(`UPDATE monitoring_task SET leased_until = NULL WHERE task = $1`, [task]);
    const lease = await new TaskLeases(this.asWorker).take(task, 600_000);
    if (lease === null) throw new Error('a free task can be leased');
    return lease;
  }

  async findings(account: string): Promise<readonly FindingRow[]> {
    return await this.core.query(
      `SELECT account_id AS account, encode(tbs_sha256, 'hex') AS tbs, state, reason, plan_id AS "planId",
         dns_names AS "dnsNames", alert_due_at IS NOT NULL AS "alertIsDue", mail_due AS "mailDue", alert
       FROM monitoring_finding WHERE account_id = $1 ORDER BY position, tbs_sha256`,
      [account],
    );
  }

  async deliveries(
    account: string,
  ): Promise<readonly { event: string; subject: string; state: string; body: string }[]> {
    return await this.core.query(
      `SELECT event, subject, state, body FROM webhook_delivery WHERE account_id = $1 ORDER BY created_at, subject`,
      [account],
    );
  }

  async sentMails(account: string): Promise<readonly { kind: string; facts: Record<string, unknown> }[]> {
    return await this.core.query(`SELECT kind, facts FROM mail WHERE account_id = $1 ORDER BY id`, [account]);
  }
}

/** An issuance with names; its body is no certificate. */
export function issuanceFor(dnsNames: readonly string[], change: Partial<NewIssuance> = {}): NewIssuance {
  return anIssuance(dnsNames[0] ?? '', { dnsNames, nameKeys: [], ...change });
}

const sequence = (...parts: readonly Uint8Array[]) => encodeTlv(0x30, ...parts);
const algorithm = sequence(encodeObjectIdentifier('1.2.840.10045.4.3.2'));

/** A CA with a key. */
export class SpecCa {
  private readonly pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  readonly spkiDer = this.pair.publicKey.export({ type: 'spki', format: 'der' });
  readonly spkiSha256 = createHash('sha256').update(this.spkiDer).digest();
  readonly nameDer: Buffer;

  constructor(name: string) {
    const type = encodeObjectIdentifier('2.5.4.10');
    this.nameDer = Buffer.from(sequence(encodeTlv(0x31, sequence(type, encodeTlv(0x0c, Buffer.from(name))))));
  }

  get issuer(): NewIssuer {
    return {
      spkiSha256: this.spkiSha256,
      nameDer: this.nameDer,
      certificateDer: null,
      spkiDer: this.spkiDer,
    };
  }

  /** @param issuer in the index; another one than the signer is a lie of the log */
  issue(dnsNames: readonly string[], issuer: NewIssuer = this.issuer): NewIssuance {
    const [notBefore, notAfter] = [new Date(Date.now() - 3_600_000), new Date(Date.now() + 86_400_000)];
    const names = sequence(...dnsNames.map((name) => encodeTlv(0x82, Buffer.from(name))));
    const extension = sequence(encodeObjectIdentifier('2.5.29.17'), encodeTlv(0x04, names));
    const tbs = sequence(
      encodeTlv(0xa0, encodeInteger(2n)),
      encodeInteger(BigInt(randomInt(1, 2 ** 40))),
      algorithm,
      issuer.nameDer,
      sequence(encodeTime(notBefore), encodeTime(notAfter)),
      sequence(),
      this.spkiDer,
      encodeTlv(0xa3, sequence(extension)),
    );
    const signature = encodeTlv(0x03, Buffer.of(0), sign('sha256', tbs, this.pair.privateKey));
    const der = Buffer.from(sequence(tbs, algorithm, signature));
    return issuanceFor(dnsNames, {
      tbsSha256: tbsSha256(readIssued(der, 'certificate')),
      certSha256: createHash('sha256').update(der).digest('hex'),
      precertificate: false,
      issuer,
      notBefore,
      notAfter,
      body: packBody(der, 'none'),
    });
  }
}
