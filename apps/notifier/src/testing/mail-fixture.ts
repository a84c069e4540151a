import { randomBytes, randomInt } from 'node:crypto';
import { Installations } from '@certwright/accounts';
import { EmailApprovals, IssuanceWakeUps } from '@certwright/approvals';
import { type NewMail, Mails } from '@certwright/delivery';
import { MailSubjects } from '../mail/mail-subjects';
import { Outbox, Transactions } from '@certwright/core-schema';
import type { ParsedMail } from 'mailparser';
import type { Drain } from '@certwright/service';
import { MailWriter } from '../mail/mail-writer';
import { MonitoringMailWriter } from '../mail/monitoring/monitoring-mail-writer';
import { MonitoringSubjects } from '../mail/monitoring/monitoring-subjects';
import { SendMail } from '../mail/send-mail';
import { SmtpClient } from '../mail/smtp.client';
import { MailServer } from './mail-server';
import { NotifierDatabase } from './notifier-database';

/** Differences from a plan of the certificate API for `www.example.com`, which `admin@example.com` may approve. */
export interface ObjectFixture {
  readonly cn?: string;
  readonly dnsNames?: readonly string[];
  readonly approverEmails?: Readonly<Record<string, string>>;
}

/** A mail as received. */
export interface Received {
  readonly mail: ParsedMail;
  readonly text: string;
  readonly html: string;
}

/** Sends mails from rows of its own database to a mail server on loopback. */
export class MailFixture {
  readonly send: SendMail;
  /** A plan has one issued issuance per revision. */
  private revision = 0;

  private constructor(
    readonly notifier: NotifierDatabase,
    readonly server: MailServer,
    private readonly smtp: SmtpClient,
    readonly account: string,
  ) {
    const { asNotifier } = notifier;
    const wakeUps = new IssuanceWakeUps(asNotifier, new Outbox(asNotifier));
    const mails = new Mails(asNotifier);
    const approvals = new EmailApprovals(asNotifier, new Transactions(asNotifier), mails, wakeUps);
    const monitoring = new MonitoringMailWriter(new MonitoringSubjects(asNotifier));
    this.send = new SendMail(
      notifier.leasedMails,
      new MailWriter(new MailSubjects(asNotifier, new Installations(asNotifier)), monitoring, approvals, {
        APPROVAL_URL: 'https://approve.example.net',
      }),
      smtp,
      { ended: () => undefined, leaseLost: () => undefined },
      { SMTP_FROM: 'Certwright <no-reply@certwright.example>', SEALING_KEYS: notifier.sealing },
    );
  }

  static async open(accountName: string): Promise<MailFixture> {
    const notifier = await NotifierDatabase.open();
    const server = await MailServer.open();
    const smtp = new SmtpClient(
      { SMTP_URL: server.url, SMTP_REQUIRE_TLS: false, SMTP_USER: null, SMTP_PASSWORD: null },
      { signal: new AbortController().signal } as Drain,
    );
    return new MailFixture(notifier, server, smtp, await notifier.account(accountName));
  }

  async close(): Promise<void> {
    this.smtp.onApplicationShutdown();
    await this.server.close();
    await this.notifier.close();
  }

  async query<T>(statement: string, values: readonly unknown[] = []): Promise<T[]> {
    return await this.notifier.database.query<T[]>(statement, [...values]);
  }

  /** Enqueues a mail and sends it. @returns the received mail; null when it was canceled */
  async mail(mail: Omit<NewMail, 'accountId'>): Promise<Received | null> {
    return await this.sent(await this.notifier.mail({ accountId: this.account, ...mail } as NewMail));
  }

  async sent(mailId: string): Promise<Received | null> {
    this.server.received.length = 0;
    await this.send.run(mailId);
    const [row] = await this.query<{ state: string }>(`SELECT state FROM mail WHERE id = $1`, [mailId]);
    const [mail] = this.server.received;
    if (row?.state !== (mail === undefined ? 'canceled' : 'sent')) throw new Error(`it is ${row?.state}`);
    return mail === undefined ? null : { mail, text: mail.text ?? '', html: String(mail.html) };
  }

  /** A certificate object with its plan and terms. @returns the plan's id */
  async object({
    cn = 'www.example.com',
    dnsNames = [cn],
    approverEmails = { [cn]: 'admin@example.com' },
  }: ObjectFixture = {}): Promise<string> {
    const planId = await this.notifier.plan(this.account);
    const termsId = await this.terms(planId, dnsNames, approverEmails);
    await this.query(`UPDATE plan SET owner = 'certs-v2', terms_id = $2 WHERE id = $1`, [planId, termsId]);
    await this.query(
      `INSERT INTO cert_object_v2 (plan_id, account_id, cn, type, approval_method, approver_email, csr, spki_sha256, key_type)
       VALUES ($1, $2, $3, 'dv', 'email', 'admin@example.com', 'x', $4, 'ecdsa')`,
      [planId, this.account, cn, randomBytes(32)],
    );
    return planId;
  }

  async terms(
    planId: string,
    dnsNames: readonly string[],
    approverEmails: Readonly<Record<string, string>>,
  ): Promise<string> {
    const [terms] = await this.query<{ id: string }>(
      `INSERT INTO terms (plan_id, product, dns_names, key_type, csr, spki_sha256, approver_emails)
       VALUES ($1, 'paid_ca', $2, 'ecdsa', 'x', $3, $4) RETURNING id`,
      [planId, dnsNames, randomBytes(32), JSON.stringify(approverEmails)],
    );
    return terms?.id ?? '';
  }

  /** @returns the id of an issuance of the plan's present terms */
  async issuance(
    planId: string,
    state: 'open' | 'issued',
    approvals: readonly object[] = [],
  ): Promise<string> {
    const [issuance] = await this.query<{ id: string }>(
      `INSERT INTO issuance (plan_id, account_id, terms_id, revision, state, approvals, due_at, closed_at)
       SELECT id, account_id, terms_id, $4, $2, $3, now(), CASE WHEN $2 <> 'open' THEN now() END
       FROM plan WHERE id = $1 RETURNING id`,
      [planId, state, JSON.stringify(approvals), (this.revision += 1)],
    );
    return issuance?.id ?? '';
  }

  /** A current certificate with six and a half days left. @returns its id */
  async certificate(planId: string, dnsNames: readonly string[]): Promise<string> {
    const issuanceId = await this.issuance(planId, 'issued');
    const chain = randomBytes(32);
    await this.query(`INSERT INTO certificate_chain (sha256, chain, root) VALUES ($1, '{}', 'x')`, [chain]);
    const id = String(randomInt(1, 2 ** 47));
    await this.query(
      `INSERT INTO certificate (id, account_id, plan_id, issuance_id, is_current, dns_names, key_type, serial_number,
         not_before, not_after, sha256, spki_sha256, leaf, chain_sha256)
       VALUES ($1, $2, $3, $4, true, $5, 'ecdsa', '0a0b', now() - interval '80 days',
         now() + interval '6 days 12 hours', $6, $7, 'x', $8)`,
      [id, this.account, planId, issuanceId, dnsNames, randomBytes(32), randomBytes(32), chain],
    );
    return id;
  }
}
