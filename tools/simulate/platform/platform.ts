import { randomBytes, randomInt } from 'node:crypto';
import { deliverWebhook, type DueRow, sendMail } from '@certwright/jobs';
import { AnnouncementRound, Mails, WebhookDeliveries } from '@certwright/delivery';
import { ApprovalRecords, EmailApprovals } from '@certwright/approvals';
import { Attachments, LeasedIssuances } from '@certwright/ordering';
import { CaIssuers } from '../../../apps/issuance-worker/src/certificate-authorities/built-in/ca-issuers';
import { CaSignings } from '../../../apps/issuance-worker/src/certificate-authorities/built-in/ca-signings';
import { ExpirationNotices } from '../../../apps/issuance-worker/src/notices/expiration-notices';
import { LeasedDeliveries } from '../../../apps/notifier/src/webhooks/leased-deliveries';
import { LeasedMails } from '../../../apps/notifier/src/mail/leased-mails';
import { MailSubjects } from '../../../apps/notifier/src/mail/mail-subjects';
import { Outbox } from '@certwright/core-schema';
import { PendingRevocations } from '../../../apps/issuance-worker/src/revocations/pending-revocations';
import { Renewals } from '../../../apps/issuance-worker/src/renewals/renewals.repository';
import { RevocationLists } from '../../../apps/issuance-worker/src/certificate-authorities/built-in/revocation-lists';
import { DataSource } from 'typeorm';
import {
  approvalReuseMs,
  forgetExpiredApprovals,
} from '../../../apps/issuance-worker/src/approvals/approvers';
import { PublishApprovals } from '../../../apps/issuance-worker/src/approvals/publish-approvals';
import { BuiltInCa } from '../../../apps/issuance-worker/src/certificate-authorities/built-in/built-in-ca';
import { KeyFiles } from '../../../apps/issuance-worker/src/certificate-authorities/built-in/key-files';
import { housekeeping } from '../../../apps/issuance-worker/src/housekeeping/housekeeping';
import { AdvanceIssuance } from '../../../apps/issuance-worker/src/issuance/advance-issuance';
import { noticeOnce } from '../../../apps/issuance-worker/src/notices/notices';
import { relayOnce } from '../../../apps/issuance-worker/src/nudges/relay';
import { sweepOnce } from '../../../apps/issuance-worker/src/nudges/sweep';
import { renewOnce } from '../../../apps/issuance-worker/src/renewals/renewals';
import { revokeCertificate } from '../../../apps/issuance-worker/src/revocations/revoke-certificate';
import { sweepRevocations } from '../../../apps/issuance-worker/src/revocations/sweep-revocations';
import { housekeeping as notifierHousekeeping } from '../../../apps/notifier/src/housekeeping/housekeeping';
import { senderOf } from '../../../apps/notifier/src/mail/mail-address';
import { SendMail } from '../../../apps/notifier/src/mail/send-mail';
import { sweepOnce as sweepNotifier } from '../../../apps/notifier/src/nudges/sweep';
import { deliveryBounds } from '../../../apps/notifier/src/webhooks/bounds';
import {
  DeliverWebhook,
  leaseMs as deliveryLeaseMs,
} from '../../../apps/notifier/src/webhooks/deliver-webhook';
import { AnnounceCurrentInstance } from '../../../apps/certs-v2/src/announcements/announce-current-instance.use-case';
import { AnnounceCurrentCertificate } from '../../../apps/orders-v3/src/announcements/announce-current-certificate.use-case';
import { withConnectionBreak } from '../faults/broken-connections';
import type { FaultyAuthority } from '../world/faulty-authority';
import type { MailServer } from '../world/mail-server';
import type { StandingRecords } from '../world/standing-records';
import type { WebhookReceivers } from '../world/webhook-receivers';
import { type JobHandlers, JobRunner, type RunnerFaults } from './job-runner';
import { type Processes, publicationUrl } from './processes';

export interface Outside {
  readonly authority: FaultyAuthority;
  readonly records: StandingRecords;
  readonly mailServer: MailServer;
  readonly receivers: WebhookReceivers;
}

const dayMs = 86_400_000;
const daily: ReadonlySet<string> = new Set([
  'delegations',
  'idempotency',
  'approvals',
  'forgetDeliveries',
  'forgetMails',
]);
const byTime: ReadonlySet<string> = new Set(['renewals', 'notices', 'expired', 'unusedCharges']);

type Round = () => Promise<number>;

/** Passes of one step: each does the work that the previous one created. */
const maxPasses = 500;

/** The background work of the platform: jobs and periodic tasks, at each step of the clock. */
export class Platform {
  readonly jobs: JobRunner;
  private readonly rounds: Readonly<Record<string, Round>>;
  private readonly failedRounds = { count: 0 };

  constructor(
    processes: Processes,
    outside: Outside,
    private readonly faults: RunnerFaults,
  ) {
    this.jobs = new JobRunner(
      { ...workerJobs(processes, outside), ...otherJobs(processes, outside) },
      faults,
    );
    this.rounds = { ...workerRounds(processes, outside, this.jobs), ...otherRounds(processes, this.jobs) };
  }

  get roundsFailed(): number {
    return this.failedRounds.count;
  }

  /** Does all work that is due. The clock is stopped meanwhile. */
  async instant(): Promise<void> {
    this.jobs.nextInstant();
    await this.jobs.frozen.wake(this.faults.nowMs());
    for (let pass = 0; pass < maxPasses; pass += 1) {
      const due = Object.entries(this.rounds).filter(([name]) => this.isDue(name, pass));
      // Periodic tasks skip rows that others have locked, and run once: no task may lock a row of another.
      for (const [name, round] of due) if (byTime.has(name)) await this.round(name, round, pass);
      const others = due.filter(([name]) => !byTime.has(name));
      await Promise.all(others.map(async ([name, round]) => await this.round(name, round, pass)));
      // The tasks of the second pass find the work that those of the first pass created.
      if ((await this.jobs.runAll()) === 0 && pass > 0) return;
    }
    throw new Error(`after ${maxPasses} passes there is still work to do in one step`);
  }

  /** Tasks with intervals of minutes run once a day; tasks that depend only on time run once per step. */
  private isDue(name: string, pass: number): boolean {
    if (daily.has(name)) return pass === 0 && this.faults.nowMs() % dayMs === 0;
    return pass === 0 || !byTime.has(name);
  }

  private async round(name: string, round: Round, pass: number): Promise<void> {
    const connectionBreak = this.faults.connectionBreak(`${name} ${pass} ${this.faults.nowMs()}`);
    await withConnectionBreak(connectionBreak, async () => {
      try {
        // A task with more to do returns 0.
        while ((await round()) === 0);
      } catch {
        this.failedRounds.count += 1;
      }
    });
  }
}

export async function openAuthority({ worker }: Processes, keyFolder: string): Promise<BuiltInCa> {
  return await BuiltInCa.open(
    { name: 'Simulation', publicationUrl },
    new KeyFiles(keyFolder),
    worker.get(CaIssuers),
    worker.get(CaSignings),
    worker.get(RevocationLists),
  );
}

function workerJobs({ worker }: Processes, { authority, records }: Outside): JobHandlers {
  const advance = new AdvanceIssuance({
    leasedIssuances: worker.get(LeasedIssuances),
    attachments: worker.get(Attachments),
    approvers: [records.approver()],
    publishing: new PublishApprovals(worker.get(ApprovalRecords), 'approve.example.net', false),
    approvalReuseMs: approvalReuseMs({ APPROVAL_REUSE_DAYS: 200 }),
    issuers: authority,
    events: {
      changed: () => undefined,
      attached: () => undefined,
      failed: () => undefined,
      resting: () => undefined,
      leaseLost: () => undefined,
      stumbled: () => undefined,
    },
    certificateId: () => String(randomInt(1, 2 ** 48 - 1)),
  });
  const pending = worker.get(PendingRevocations);
  const ports = { pending, issuers: authority, revoked: () => undefined };
  return {
    'advance-issuance': async ({ issuanceId }: { issuanceId: string }) => await advance.run(issuanceId),
    'revoke-certificate': async ({ certificateId }: { certificateId: string }) =>
      await revokeCertificate(ports, certificateId),
  };
}

function otherJobs({ orders, certs, notifier, notifierConfig }: Processes, outside: Outside): JobHandlers {
  const announceOrder = orders.get(AnnounceCurrentCertificate);
  const announceInstance = certs.get(AnnounceCurrentInstance);
  const deliveries = notifier.get(LeasedDeliveries);
  const deliver = new DeliverWebhook({
    deliveries,
    sealing: notifierConfig.SEALING_KEYS,
    post: async (request) => await outside.receivers.post(request),
    events: { tried: () => undefined, leaseLost: () => undefined, stumbled: () => undefined },
    stopping: new AbortController().signal,
    random: () => 0.5,
  });
  const from = senderOf(notifierConfig.SMTP_FROM);
  if (from === null) throw new TypeError('the sender of mails is no address');
  const mail = new SendMail({
    mails: notifier.get(LeasedMails),
    smtp: outside.mailServer,
    subjects: notifier.get(MailSubjects),
    approvals: notifier.get(EmailApprovals),
    approvalUrl: notifierConfig.APPROVAL_URL,
    tokenBytes: () => randomBytes(20),
    from,
    events: { ended: () => undefined, leaseLost: () => undefined },
    random: () => 0.5,
  });
  return {
    'current-certificate-changed': async ({ planId }: { planId: string }) => {
      await announceOrder.run(planId);
    },
    'current-instance-changed': async ({ planId }: { planId: string }) => {
      await announceInstance.run(planId);
    },
    'deliver-webhook': async ({ deliveryId }: { deliveryId: string }) =>
      await deliverAll(deliveryId, deliveries, deliver),
    'send-mail': async ({ mailId }: { mailId: string }) => await mail.run(mailId),
  };
}

/** Sends all due deliveries of an endpoint, like the dispatcher of the notifier with a running clock. */
async function deliverAll(
  deliveryId: string,
  deliveries: LeasedDeliveries,
  deliver: DeliverWebhook,
): Promise<void> {
  const requests = (await deliveries.waitingAt([deliveryId])).map(({ endpointId }) => ({
    endpointId,
    max: 16,
  }));
  if (requests.length === 0) return;
  for (;;) {
    const { leased } = await deliveries.lease(requests, deliveryLeaseMs, deliveryBounds);
    if (leased.length === 0) return;
    await Promise.all(leased.map(async (each) => await deliver.run(each)));
  }
}

function workerRounds(
  { worker }: Processes,
  { authority }: Outside,
  jobs: JobRunner,
): Readonly<Record<string, Round>> {
  const outbox = worker.get(Outbox);
  const issuances = worker.get(LeasedIssuances);
  const renewals = worker.get(Renewals);
  const notices = worker.get(ExpirationNotices);
  return {
    renewals: async () => await renewOnce(renewals),
    relay: async () => await relayOnce(outbox, jobs),
    sweep: async () => (await sweepOnce(issuances, jobs), 1),
    revocations: sweepRevocations(worker.get(PendingRevocations), jobs),
    // The task that renews its lists publishes them.
    ...housekeeping(worker, authority as unknown as BuiltInCa),
    approvals: forgetExpiredApprovals(worker),
    notices: async () => await noticeOnce(notices),
  };
}

/** One delivery per endpoint and account is enough: other due ones are sent with it. */
const dueStatement = `
  SELECT DISTINCT ON (endpoint_id) id, lease_token AS "leaseToken",
    extract(epoch FROM clock_timestamp() - due_at)::float8 AS "overdueS" FROM webhook_delivery
  WHERE state = 'pending' AND due_at <= clock_timestamp()
    AND (leased_until IS NULL OR leased_until <= clock_timestamp())
  ORDER BY endpoint_id, due_at LIMIT $1`;

/** Deliveries and mails that one task enqueues. */
const batch = 200;

function otherRounds(
  { orders, certs, notifier }: Processes,
  jobs: JobRunner,
): Readonly<Record<string, Round>> {
  const database = notifier.get(DataSource);
  const mails = notifier.get(LeasedMails);
  const dueDeliveries = async () =>
    await database.query<(DueRow & { readonly id: string })[]>(dueStatement, [batch]);
  const dueMails = async () => await mails.due(batch);
  const announce = (round: AnnouncementRound) => async () => await round.run(() => undefined);
  return {
    announceOrders: announce(orders.get(AnnouncementRound)),
    announceInstances: announce(certs.get(AnnouncementRound)),
    sweepDeliveries: async () => await sweepNotifier(dueDeliveries, deliverWebhook, jobs),
    sweepMails: async () => await sweepNotifier(dueMails, sendMail, jobs),
    ...notifierHousekeeping(notifier.get(WebhookDeliveries), notifier.get(Mails)),
  };
}
