import { Installations } from '@certwright/accounts';
import { createHash, randomBytes, randomInt } from 'node:crypto';
import { EmailApprovals, IssuanceWakeUps } from '@certwright/approvals';
import { type NewMail, Mails } from '@certwright/delivery';
import { type LeasedMails } from './leased-mails';
import { MailSubjects } from './mail-subjects';
import { Outbox, Transactions } from '@certwright/core-schema';
import { SealingKeys } from '@certwright/sealing';
import type { Drain } from '@certwright/service';
import { MailServer } from '../testing/mail-server';
import { NotifierDatabase } from '../testing/notifier-database';
import { MonitoringMailWriter } from './monitoring/monitoring-mail-writer';
import { MonitoringSubjects } from './monitoring/monitoring-subjects';
import { MailWriter } from './mail-writer';
import { SendMail } from './send-mail';
import { mailWaitsMs } from './send-outcome';
import { SmtpClient } from './smtp.client';

let notifier: NotifierDatabase;
let server: MailServer;
let smtp: SmtpClient;
let account: string;
let approvals: EmailApprovals;
const ended: unknown[] = [];
beforeAll(async () => {
  notifier = await NotifierDatabase.open();
  account = await notifier.account('Söhne & <b>Co</b>');
  server = await MailServer.open();
  smtp = client();
  const { asNotifier } = notifier;
  approvals = new EmailApprovals(
    asNotifier,
    new Transactions(asNotifier),
    new Mails(asNotifier),
    new IssuanceWakeUps(asNotifier, new Outbox(asNotifier)),
  );
});
afterAll(async () => {
  smtp.onApplicationShutdown();
  await server.close();
  await notifier.close();
});
afterEach(() => jest.restoreAllMocks());
beforeEach(async () => {
  jest.spyOn(Math, 'random').mockReturnValue(0);
  await notifier.database.query('UPDATE account SET disabled_at = NULL');
  for (const list of [server.received, server.raw, ended]) list.length = 0;
  server.refusal = null;
  await notifier.database.query('TRUNCATE mail, order_v3');
});

const client = (requireTls = false, signal = new AbortController().signal) =>
  new SmtpClient(
    { SMTP_URL: server.url, SMTP_REQUIRE_TLS: requireTls, SMTP_USER: null, SMTP_PASSWORD: null },
    { signal } as Drain,
  );

const sender = (mails: LeasedMails = notifier.leasedMails, SEALING_KEYS = notifier.sealing) =>
  new SendMail(
    mails,
    new MailWriter(
      new MailSubjects(notifier.asNotifier, new Installations(notifier.asNotifier)),
      new MonitoringMailWriter(new MonitoringSubjects(notifier.asNotifier)),
      approvals,
      { APPROVAL_URL: 'https://approve.example.net' },
    ),
    smtp,
    {
      ended: (_, outcome, problem) => ended.push([outcome, problem]),
      leaseLost: () => ended.push('lease lost'),
    },
    { SMTP_FROM: 'Certwright <no-reply@certwright.example>', SEALING_KEYS },
  );

/** An order with a plan, terms and a valid certificate that is current. */
async function order(name: string, dnsNames: readonly string[] = ['www.example.com']) {
  const planId = await notifier.plan(account);
  const emails = JSON.stringify({ 'www.example.com': 'admin@example.com' });
  const { database } = notifier;
  const [{ id: termsId }] = await database.query<[{ id: string }]>(
    `INSERT INTO terms (plan_id, product, dns_names, key_type, csr, spki_sha256, approver_emails)
     VALUES ($1, 'paid_ca', $2, 'ecdsa', 'x', $3, $4) RETURNING id`,
    [planId, dnsNames, randomBytes(32), emails],
  );
  await database.query(`UPDATE plan SET terms_id = $2 WHERE id = $1`, [planId, termsId]);
  await database.query(
    `INSERT INTO order_v3 (plan_id, account_id, name, dns_names, approver_emails, product, key_type)
     VALUES ($1, $2, $3, $4, $5, 'paid_ca', 'ecdsa')`,
    [planId, account, name, dnsNames, emails],
  );
  const [{ id: issuanceId }] = await database.query<[{ id: string }]>(
    `INSERT INTO issuance (plan_id, account_id, terms_id, revision, state, approvals, due_at, closed_at)
     VALUES ($1, $2, $3, 1, 'issued', '[]', now(), now()) RETURNING id`,
    [planId, account, termsId],
  );
  const chain = randomBytes(32);
  await database.query(`INSERT INTO certificate_chain (sha256, chain, root) VALUES ($1, '{}', 'x')`, [chain]);
  const certificateId = String(randomInt(1, 2 ** 47));
  await database.query(
    `INSERT INTO certificate (id, account_id, plan_id, issuance_id, is_current, dns_names, key_type, serial_number,
       not_before, not_after, sha256, spki_sha256, leaf, chain_sha256)
     VALUES ($1, $2, $3, $4, true, $5, 'ecdsa', '0a0b', now() - interval '80 days',
       now() + interval '6 days 12 hours', $6, $7, 'x', $8)`,
    [certificateId, account, planId, issuanceId, dnsNames, randomBytes(32), randomBytes(32), chain],
  );
  return { planId, certificateId };
}

const noticeOf = (certificateId: string): NewMail => ({
  accountId: account,
  kind: 'expiration-notice',
  recipient: 'ops@example.com',
  facts: { certificateId, thresholdDays: 7 },
});

async function approvalMail(planId: string): Promise<string> {
  const box = { accountId: account, planId, dnsName: 'www.example.com', address: 'admin@example.com' };
  await notifier.approvals.request(box, new Date(0));
  const [{ id }] = await notifier.database.query<[{ id: string }]>(`SELECT id FROM mail`);
  return id;
}

const stateOf = async (id: string) => {
  const [row] = await notifier.database.query<[{ state: string; dueInS: number }]>(
    `SELECT state, extract(epoch FROM due_at - now())::float AS "dueInS" FROM mail WHERE id = $1`,
    [id],
  );
  return row;
};

const onlyMail = () => {
  expect(server.received).toHaveLength(1);
  const [mail] = server.received;
  if (mail === undefined) throw new Error('no mail');
  return { mail, text: mail.text ?? '', html: String(mail.html), raw: String(server.raw[0]) };
};

describe('a request for approval', () => {
  it('names requester and subject, and links to a page with a new 160-bit token, stored as a digest', async () => {
    const { planId } = await order('my order', ['www.example.com', 'other.example.com']);
    const id = await approvalMail(planId);
    await sender().run(id);
    const { mail, text, html } = onlyMail();
    expect(mail.subject).toBe('Please approve a certificate for www.example.com');
    expect(mail.to).toMatchObject({ text: 'admin@example.com' });
    for (const said of [
      'Söhne & <b>Co</b>',
      'www.example.com',
      'my order',
      'other.example.com',
      'did not expect',
    ]) {
      expect(text).toContain(said);
    }
    expect(html).toContain('Söhne &amp; &lt;b&gt;Co&lt;/b&gt;');
    const token = /https:\/\/approve\.example\.net\/approve\/([\w-]{27})\n/.exec(text)?.[1] ?? '';
    expect(html).toContain(`href="https://approve.example.net/approve/${token}"`);
    const sha256 = createHash('sha256').update(token).digest();
    expect(await notifier.approvals.lookUp(sha256)).toMatchObject({ state: 'open' });
    const stored = await notifier.database.query(`SELECT row_to_json(mail)::text AS mail FROM mail`);
    expect(JSON.stringify(stored)).not.toContain(token);
    expect(await stateOf(id)).toMatchObject({ state: 'sent' });
  });

  it.each([
    ['it was approved meanwhile', `UPDATE email_approval SET approved_at = now() + interval '1 second'`],
    ['the order is gone', `UPDATE plan SET closed_at = now()`],
    [
      'the order names another address now',
      `UPDATE order_v3 SET approver_emails = '{"www.example.com": "x@example.com"}'`,
    ],
  ])('is canceled when %s', async (_, change) => {
    const { planId } = await order('gone');
    const id = await approvalMail(planId);
    await notifier.database.query(
      `${change} WHERE ${change.includes('UPDATE plan') ? 'id' : 'plan_id'} = $1`,
      [planId],
    );
    await sender().run(id);
    expect(server.received).toEqual([]);
    expect(await stateOf(id)).toMatchObject({ state: 'canceled' });
  });
});

describe('an expiration notice', () => {
  it('contains order, names, end and what to do', async () => {
    const { certificateId, planId } = await order('shop', ['www.example.com', '*.shop.example.com']);
    await notifier.database.query(`UPDATE plan SET auto_renew = false WHERE id = $1`, [planId]);
    await sender().run(await notifier.mail(noticeOf(certificateId)));
    const { mail, text } = onlyMail();
    expect(mail.subject).toBe('The certificate of shop expires in 7 days');
    for (const said of ['*.shop.example.com', '0a0b', 'Automatic renewal is off', 'UTC'])
      expect(text).toContain(said);
    expect(mail.headers.get('auto-submitted')).toBe('auto-generated');
    expect(mail.from).toMatchObject({ text: '"Certwright" <no-reply@certwright.example>' });
  });

  it.each([
    ['is not due yet', '2 days', false, 'The order is renewed automatically from'],
    ['is due', '-1 minute', false, 'may be waiting for an approval or for a CSR'],
    ['cannot be paid, and is checked every hour', '59 minutes', false, 'may be waiting for an approval'],
    ['waits for a CSR', '2 days', true, 'may be waiting for an approval or for a CSR'],
  ])('says what is to be done when the renewal %s', async (_, renewsIn, lacksCsr, expected) => {
    const { certificateId, planId } = await order('renewed');
    await notifier.database.query(
      `UPDATE plan SET renew_at = now() + $2::interval, terms_id = CASE WHEN $3 THEN NULL ELSE terms_id END WHERE id = $1`,
      [planId, renewsIn, lacksCsr],
    );
    await sender().run(await notifier.mail(noticeOf(certificateId)));
    const text = onlyMail().text.replaceAll(/\s+/g, ' ');
    expect(text).toContain(expected);
    expect(text.includes('there is no replacement yet')).toBe(!expected.includes('automatically'));
  });

  it.each([
    ['none', null, 'which has none. Please enrol one.'],
    ['silent ones', '20 minutes', 'none of them was seen since'],
    ['a live one', '1 minute', 'waiting for an approval or for a CSR'],
  ])('says what a managed order waits for when its cluster has %s', async (_, seen, expected) => {
    const { certificateId, planId } = await order('managed');
    const { database } = notifier;
    await database.query(`INSERT INTO cluster (account_id, name) VALUES ($1, 'web') ON CONFLICT DO NOTHING`, [
      account,
    ]);
    await database.query(`DELETE FROM agent WHERE account_id = $1`, [account]);
    await database.query(`UPDATE order_v3 SET cluster = 'web' WHERE plan_id = $1`, [planId]);
    await database.query(`INSERT INTO key_request (plan_id, reason, due_at) VALUES ($1, 'first', now())`, [
      planId,
    ]);
    if (seen !== null)
      await database.query(
        `WITH enrolment AS (
           INSERT INTO cluster_enrolment (account_id, cluster, token_sha256, uses, used, expires_at)
           VALUES ($1, 'web', $2, 1, 1, now()) RETURNING id)
         INSERT INTO agent (id, account_id, cluster, identity_key, sealing_key, enrolment_id, name, version, platform, last_seen_at)
         SELECT 'agent', $1, 'web', $2, $2, id, 'host', '1', 'linux', now() - $3::interval FROM enrolment`,
        [account, randomBytes(32), seen],
      );
    await sender().run(await notifier.mail(noticeOf(certificateId)));
    expect(onlyMail().text.replaceAll(/\s+/g, ' ')).toContain(expected);
  });

  it.each([
    ['replaced', `UPDATE certificate SET is_current = false WHERE id = $1`],
    ['revoked', `UPDATE certificate SET revoked_at = now(), revocation_reason = 0 WHERE id = $1`],
    [
      'muted',
      `UPDATE plan SET muted = true FROM certificate WHERE plan.id = plan_id AND certificate.id = $1`,
    ],
    [
      'of a disabled account',
      `UPDATE account SET disabled_at = now() FROM certificate WHERE account.id = account_id AND certificate.id = $1`,
    ],
  ])('is canceled when the certificate is %s meanwhile', async (_, change) => {
    const { certificateId } = await order('quiet');
    const id = await notifier.mail(noticeOf(certificateId));
    await notifier.database.query(change, [certificateId]);
    await sender().run(id);
    expect(server.received).toEqual([]);
    expect(await stateOf(id)).toMatchObject({ state: 'canceled' });
  });

  it.each([
    [7, 1],
    [14, 0],
    [30, 0],
  ])('of %i days is sent %i times when 6.5 days are left', async (thresholdDays, times) => {
    const { certificateId } = await order('delayed');
    const notice = { ...noticeOf(certificateId), facts: { certificateId, thresholdDays } } as NewMail;
    await sender().run(await notifier.mail(notice));
    expect(server.received).toHaveLength(times);
  });

  it.each([
    ['emoji', '👩‍👩‍👧‍👦 shop 🏳️‍🌈', '👩‍👩‍👧‍👦 shop 🏳️‍🌈'],
    [
      'line ends and a header',
      'a\r\nBcc: victim@example.com\r\n\r\nbody',
      'a\ufffd\ufffdBcc: victim@example.com\ufffd\ufffd\ufffd\ufffdbody',
    ],
    ['right to left', 'متجر', '\u2068متجر\u2069'],
    ['characters that turn the direction', 'a\u202egnp.exe\u2066', 'a\ufffdgnp.exe\ufffd'],
    ['markup', '<script>alert(1)</script>"\'&', '<script>alert(1)</script>"\'&'],
    ['an encoded word', '=?utf-8?B?aGk=?=', '=\u2060?utf-8?B?aGk=\u2060?='],
    ['255 characters', 'x'.repeat(255), `${'x'.repeat(59)}…`],
    ['255 emoji', '😀'.repeat(255), `${'😀'.repeat(59)}…`],
    ['combining marks without end', `a${'\u0301'.repeat(254)}`, `a${'\u0301'.repeat(254)}`],
  ])('keeps an order name with %s inside its place', async (_, name, shown) => {
    const { certificateId } = await order(name);
    await sender().run(await notifier.mail(noticeOf(certificateId)));
    const { mail, text, html, raw } = onlyMail();
    expect(mail.subject).toBe(`The certificate of ${shown} expires in 7 days`);
    expect(mail.headerLines.map(({ key }) => key).sort()).toEqual([
      'auto-submitted',
      'content-type',
      'date',
      'from',
      'message-id',
      'mime-version',
      'subject',
      'to',
      'x-auto-response-suppress',
    ]);
    expect(mail.to).toMatchObject({ text: 'ops@example.com' });
    expect(html).not.toContain('<script>');
    expect(text).toContain('The current certificate of the order ');
    // RFC 5322 §2.1.1: max 998 characters per line, and only ASCII unless MIME declares otherwise.
    expect(Math.max(...raw.split('\r\n').map(({ length }) => length))).toBeLessThanOrEqual(998);
    expect(raw).not.toMatch(/[^\x00-\x7f]/);
  });
});

describe('a mail about a disabled endpoint', () => {
  const disabled = async () => {
    const { id } = await notifier.endpoint(account, 'https://hooks.example.com/in?token=hidden');
    await notifier.database.query(
      `UPDATE webhook_endpoint SET enabled = false, disabled_reason = 'It is gone.'`,
    );
    return await notifier.mail({
      accountId: account,
      kind: 'webhook-disabled',
      recipient: 'ops@example.com',
      facts: { endpointId: id },
    });
  };

  it('names the endpoint and the reason, without secrets in its URL', async () => {
    await sender().run(await disabled());
    const { text, raw } = onlyMail();
    expect(text).toContain('https://hooks.example.com/in');
    expect(text).toContain('It is gone.');
    expect(raw).not.toContain('hidden');
  });

  it('is canceled when the account is disabled meanwhile', async () => {
    const id = await disabled();
    await notifier.database.query(`UPDATE account SET disabled_at = now() WHERE id = $1`, [account]);
    await sender().run(id);
    expect(server.received).toEqual([]);
    expect(await stateOf(id)).toMatchObject({ state: 'canceled' });
  });
});

describe('sending', () => {
  const notice = async () => await notifier.mail(noticeOf((await order('n')).certificateId));

  it.each([
    ['MAIL FROM', 451],
    ['RCPT TO', 450],
    ['DATA', 452],
    ['MAIL FROM', 530],
  ] as const)('is tried again after %s was answered with %i', async (at, code) => {
    const id = await notice();
    server.refusal = { at, code };
    await sender().run(id);
    expect(ended).toEqual([['retried', expect.stringContaining(String(code))]]);
    const { state, dueInS } = await stateOf(id);
    expect(state).toBe('pending');
    expect(dueInS).toBeGreaterThan(55);
    expect(dueInS).toBeLessThanOrEqual(60);
  });

  it.each([
    ['RCPT TO', 550],
    ['DATA', 554],
  ] as const)('has failed permanently when %s was answered with %i', async (at, code) => {
    const id = await notice();
    server.refusal = { at, code };
    await sender().run(id);
    expect(await stateOf(id)).toMatchObject({ state: 'failed' });
  });

  it('repeats the Message-ID on a retry, so that duplicates are detected', async () => {
    const id = await notice();
    await sender().run(id);
    await notifier.database.query(`UPDATE mail SET state = 'pending', finished_at = NULL`);
    await sender().run(id);
    const ids = server.received.map(({ messageId }) => messageId);
    expect(ids).toEqual([expect.stringMatching(/^<[0-9a-f]{64}@certwright\.example>$/), ids[0]]);
  });

  it('has a Message-ID that only holders of the keys can compute, so that recipients cannot count mails', async () => {
    const id = await notice();
    await sender().run(id);
    await notifier.database.query(`UPDATE mail SET state = 'pending', finished_at = NULL`);
    await sender(notifier.leasedMails, new SealingKeys([randomBytes(32)])).run(id);
    const [one, other] = server.received.map(({ messageId }) => messageId);
    expect(one).not.toBe(other);
  });

  it.each([
    'a@b',
    'a@example.com, b@example.com',
    'a@example.com\r\nBcc: b@example.com',
    '"a b"@example.com',
    '<a@example.com>',
    'a@[127.0.0.1]',
    '',
  ])('to %j fails without contacting the server', async (recipient) => {
    const { certificateId } = await order('n');
    const id = await notifier.mail({ ...noticeOf(certificateId), recipient });
    await sender().run(id);
    expect(server.received).toEqual([]);
    expect(await stateOf(id)).toMatchObject({ state: 'failed' });
  });

  it.each([
    ['an unreachable database is back', 'ECONNREFUSED'],
    ['a database without free connections has one', '53300'],
    ['the disk of the database is no longer full', '53100'],
  ])('is recorded once %s, and not sent again', async (_when, code) => {
    const { leasedMails } = notifier;
    let outages = 2;
    const mails = Object.create(leasedMails) as LeasedMails;
    mails.finish = async (...end) => {
      if (outages-- > 0) throw Object.assign(new Error('refused'), { code });
      return await leasedMails.finish(...end);
    };
    const id = await notice();
    await sender(mails).run(id);
    expect(await stateOf(id)).toMatchObject({ state: 'sent' });
    expect(server.received).toHaveLength(1);
  });

  it('is given up after four days', async () => {
    const id = await notice();
    server.refusal = { at: 'DATA', code: 451 };
    await notifier.database.query(`UPDATE mail SET attempts = $2 WHERE id = $1`, [id, mailWaitsMs.length]);
    await sender().run(id);
    expect(await stateOf(id)).toMatchObject({ state: 'failed' });
  });

  const message = {
    from: { name: '', address: 'a@example.com' },
    to: 'b@example.com',
    subject: 's',
    text: 't',
    html: 'h',
    messageId: '<1@example.com>',
    date: new Date(),
    headers: {},
  };

  it('stops waiting for a hanging server when the process ends', async () => {
    const stopping = new AbortController();
    const stopped = client(false, stopping.signal);
    server.hangs = true;
    const hanging = stopped.send(message);
    stopping.abort();
    await expect(hanging).rejects.toThrow('did not respond in time');
    stopped.onApplicationShutdown();
    server.hangs = false;
  });

  it('requires TLS unless the operator disables it', async () => {
    const strict = client(true);
    await expect(strict.send(message)).rejects.toMatchObject({ code: 'ETLS' });
    expect(server.received).toEqual([]);
    strict.onApplicationShutdown();
  });
});
