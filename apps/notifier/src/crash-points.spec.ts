import { Installations } from '@certwright/accounts';
import { EmailApprovals, IssuanceWakeUps } from '@certwright/approvals';
import { Outbox, Transactions } from '@certwright/core-schema';
import { FailingDatabase } from '@certwright/core-testing';
import { Mails } from '@certwright/delivery';
import type { Drain } from '@certwright/service';
import { eventually } from '@certwright/testing';
import type { DataSource } from 'typeorm';
import { LeasedMails } from './mail/leased-mails';
import { MailSubjects } from './mail/mail-subjects';
import { MailWriter } from './mail/mail-writer';
import { MonitoringMailWriter } from './mail/monitoring/monitoring-mail-writer';
import { MonitoringSubjects } from './mail/monitoring/monitoring-subjects';
import { SendMail } from './mail/send-mail';
import { SmtpClient } from './mail/smtp.client';
import { MailServer } from './testing/mail-server';
import { NotifierDatabase } from './testing/notifier-database';
import { Sink } from './testing/sinks';
import { deliveryBounds } from './webhooks/bounds';
import { DeliverWebhook, leaseMs } from './webhooks/deliver-webhook';
import { LeasedDeliveries } from './webhooks/leased-deliveries';
import { PostClient } from './webhooks/post.client';

jest.setTimeout(120_000);

const drain = { signal: new AbortController().signal } as Drain;

let notifier: NotifierDatabase;
let mailServer: MailServer;
let smtp: SmtpClient;
/** Accepts deliveries, or responds with 410 Gone. */
const sinks: Sink[] = [];

beforeAll(async () => {
  notifier = await NotifierDatabase.open();
  mailServer = await MailServer.open();
  const server = { SMTP_URL: mailServer.url, SMTP_REQUIRE_TLS: false, SMTP_USER: null, SMTP_PASSWORD: null };
  smtp = new SmtpClient(server, drain);
  for (const status of [204, 410])
    sinks.push(await Sink.answering((_, response) => response.writeHead(status).end()));
});
afterAll(async () => {
  smtp.onApplicationShutdown();
  await mailServer.close();
  for (const sink of sinks) await sink.close();
  await notifier.close();
});

/** All that is due, as a process does it that has just started. */
async function work(database: DataSource, signal = drain.signal): Promise<void> {
  const [transactions, mails] = [new Transactions(database), new Mails(database)];
  const approvals = new EmailApprovals(
    ...([database, transactions, mails, new IssuanceWakeUps(database, new Outbox(database))] as const),
  );
  const deliveries = new LeasedDeliveries(database, transactions, mails);
  const deliver = new DeliverWebhook(
    deliveries,
    new PostClient({ ALLOWED_NETWORKS: ['127.0.0.0/8'], DNS_RESOLVERS: [] }),
    { tried: () => undefined, leaseLost: () => undefined, unexpectedError: () => undefined },
    { signal } as Drain,
    { SEALING_KEYS: notifier.sealing },
  );
  const requests = (await deliveries.waiting()).map(({ endpointId }) => ({ endpointId, max: 1 }));
  const { leased } = await deliveries.lease(requests, leaseMs, deliveryBounds);
  // One after another, so that a number means the same statement each time.
  for (const each of leased) await deliver.run(each);
  const leasedMails = new LeasedMails(database);
  const send = new SendMail(
    leasedMails,
    new MailWriter(
      new MailSubjects(database, new Installations(database)),
      new MonitoringMailWriter(new MonitoringSubjects(database)),
      approvals,
      { APPROVAL_URL: 'https://approve.example.net' },
    ),
    smtp,
    { ended: () => undefined, leaseLost: () => undefined },
    { SMTP_FROM: 'no-reply@certwright.example', SEALING_KEYS: notifier.sealing },
  );
  for (const { id } of await leasedMails.due(10)) await send.run(id);
}

/** The process does nothing more after the break: it is killed. @returns whether it was */
async function workUntilKilled(failing: FailingDatabase): Promise<boolean> {
  let hasEnded = false;
  const kill = new AbortController();
  const working = work(failing.source, kill.signal)
    .catch((error: unknown) => {
      if (!failing.struck) throw error;
    })
    .finally(() => (hasEnded = true));
  await Promise.race([
    working,
    eventually(() => expect(failing.struck || hasEnded).toBe(true), { withinMs: 60_000, everyMs: 1 }),
  ]);
  kill.abort();
  return failing.struck;
}

it.each(['before', 'after'] as const)(
  'delivers and mails everything, under the same ids, when a process is killed %s a statement or COMMIT',
  async (when) => {
    let nth = 1;
    for (let isKilled = true; isKilled; nth += 1) {
      const account = await notifier.account();
      const plan = await notifier.plan(account);
      const [good, gone] = [
        await notifier.endpoint(account, sinks[0]?.url ?? ''),
        await notifier.endpoint(account, sinks[1]?.url ?? ''),
      ];
      const sent = [
        await notifier.deliver(account, good.id, plan),
        await notifier.deliver(account, gone.id, plan),
      ];
      for (const { received } of [...sinks, mailServer]) received.length = 0;
      isKilled = await workUntilKilled(new FailingDatabase(notifier.asNotifier, nth, when));
      for (const table of ['webhook_delivery', 'mail'])
        await notifier.database.query(
          `UPDATE ${table} SET leased_until = now() - interval '1 second' WHERE leased_until > now()`,
        );
      await work(notifier.asNotifier);
      const [result] = await notifier.database.query<unknown[]>(
        `SELECT (SELECT array_agg(state ORDER BY state) FROM webhook_delivery WHERE account_id = $1) AS deliveries,
           (SELECT array_agg(status ORDER BY status) FROM webhook_attempt
            JOIN webhook_delivery AS delivery ON delivery.id = delivery_id WHERE account_id = $1) AS attempts,
           (SELECT array_agg(enabled ORDER BY enabled) FROM webhook_endpoint WHERE account_id = $1) AS enabled,
           (SELECT array_agg(kind || ' ' || state) FROM mail WHERE account_id = $1) AS mails`,
        [account],
      );
      expect({ nth, result }).toEqual({
        nth,
        result: {
          deliveries: ['delivered', 'failed'],
          attempts: [204, 410],
          enabled: [false, true],
          mails: ['webhook-disabled sent'],
        },
      });
      const ids = sinks.map(({ received }) => [
        ...new Set(received.map((each) => each.headers['webhook-id'])),
      ]);
      expect({ nth, ids }).toEqual({ nth, ids: sent.map((id) => [id]) });
      expect(new Set(mailServer.received.map(({ messageId }) => messageId)).size).toBe(1);
      const repeated = [...sinks, mailServer].filter(({ received }) => received.length > 1);
      expect(repeated.length).toBeLessThanOrEqual(isKilled ? 1 : 0);
    }
    expect(nth).toBeGreaterThan(15);
  },
);
