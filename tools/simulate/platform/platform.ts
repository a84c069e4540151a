import { deliverWebhook, type DueRow, wakeUpRevision } from '@certwright/jobs';
import { AnnouncementRound } from '@certwright/delivery';
import { CaIssuers } from '../../../apps/issuance-worker/src/certificate-authorities/built-in/ca-issuers';
import { CaSignings } from '../../../apps/issuance-worker/src/certificate-authorities/built-in/ca-signings';
import { LeasedDeliveries } from '../../../apps/notifier/src/webhooks/leased-deliveries';
import { Rounds } from '@certwright/service';
import { RevocationLists } from '../../../apps/issuance-worker/src/certificate-authorities/built-in/revocation-lists';
import { DataSource } from 'typeorm';
import { BuiltInCa } from '../../../apps/issuance-worker/src/certificate-authorities/built-in/built-in-ca';
import { createSandboxCa } from '../../../apps/issuance-worker/src/certificate-authorities/built-in/ceremony/sandbox-ca';
import { Intermediates } from '../../../apps/issuance-worker/src/certificate-authorities/built-in/intermediates';
import { KeyFiles } from '../../../apps/issuance-worker/src/certificate-authorities/built-in/keys/key-files';
import { IssuanceProcessor } from '../../../apps/issuance-worker/src/issuance/issuance.processor';
import { RevocationsProcessor } from '../../../apps/issuance-worker/src/revocations/revocations.processor';
import { Relay } from '../../../apps/issuance-worker/src/wake-ups/relay';
import { MailProcessor } from '../../../apps/notifier/src/mail/mail.processor';
import { deliveryBounds } from '../../../apps/notifier/src/webhooks/bounds';
import {
  DeliverWebhook,
  leaseMs as deliveryLeaseMs,
} from '../../../apps/notifier/src/webhooks/deliver-webhook';
import { AnnounceCurrentInstance } from '../../../apps/certs-v2/src/announcements/announce-current-instance.use-case';
import { AnnounceCurrentCertificate } from '../../../apps/orders-v3/src/announcements/announce-current-certificate.use-case';
import { withConnectionBreak } from '../faults/broken-connections';
import { type JobHandlers, JobRunner, type RunnerFaults } from './job-runner';
import { type Processes, publicationUrl } from './processes';
import { mailBeingSent } from '../world/mail-server';

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
    private readonly faults: RunnerFaults,
  ) {
    this.jobs = new JobRunner({ ...workerJobs(processes), ...otherJobs(processes) }, faults);
    this.rounds = { ...workerRounds(processes), ...otherRounds(processes, this.jobs) };
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

export async function openAuthority(
  { worker }: Processes,
  operator: DataSource,
  keyFolder: string,
): Promise<BuiltInCa> {
  const keys = new KeyFiles(keyFolder);
  await createSandboxCa(operator, keys, { name: 'Simulation', publicationUrl }, new Date());
  const intermediates = new Intermediates(worker.get(CaIssuers), keys, publicationUrl);
  await intermediates.refresh();
  return new BuiltInCa(intermediates, worker.get(CaSignings), worker.get(RevocationLists));
}

function workerJobs({ worker }: Processes): JobHandlers {
  const issuances = worker.get(IssuanceProcessor);
  const revocations = worker.get(RevocationsProcessor);
  return {
    'advance-issuance': async (payload: { issuanceId: string }) =>
      await issuances['advance-issuance'](payload),
    'revoke-certificate': async (payload: { certificateId: string }) =>
      await revocations['revoke-certificate'](payload),
  };
}

function otherJobs({ orders, certs, notifier }: Processes): JobHandlers {
  const announceOrder = orders.get(AnnounceCurrentCertificate);
  const announceInstance = certs.get(AnnounceCurrentInstance);
  const deliveries = notifier.get(LeasedDeliveries);
  const deliver = notifier.get(DeliverWebhook);
  const mail = notifier.get(MailProcessor);
  return {
    'current-certificate-changed': async ({ planId }: { planId: string }) => {
      await announceOrder.run(planId);
    },
    'current-instance-changed': async ({ planId }: { planId: string }) => {
      await announceInstance.run(planId);
    },
    'deliver-webhook': async ({ deliveryId }: { deliveryId: string }) =>
      await deliverAll(deliveryId, deliveries, deliver),
    'send-mail': async (payload: { mailId: string }) => {
      await mailBeingSent.run(payload.mailId, async () => await mail['send-mail'](payload));
    },
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

function workerRounds({ worker }: Processes): Readonly<Record<string, Round>> {
  const { all } = worker.get(Rounds);
  const sweep = all.get('sweep');
  const relay = worker.get(Relay);
  return {
    ...Object.fromEntries(all),
    // Its own round waits for news.
    relay: async () => ((await relay.relay()) > 0 ? 0 : 1),
    // It may have more to do than jobs can wait: those run between two of its rounds.
    sweep: async () => (await sweep?.(), 1),
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
  const announce = (round: AnnouncementRound) => async () => await round.run(() => undefined);
  return {
    ...Object.fromEntries(notifier.get(Rounds).all),
    announceOrders: announce(orders.get(AnnouncementRound)),
    announceInstances: announce(certs.get(AnnouncementRound)),
    // In place of its own, which wakes the dispatcher.
    sweepDeliveries: async () => {
      const due = await database.query<(DueRow & { readonly id: string })[]>(dueStatement, [batch]);
      await jobs.addAll(due.map((delivery) => deliverWebhook(delivery.id, wakeUpRevision(delivery))));
      return 1_000;
    },
  };
}
