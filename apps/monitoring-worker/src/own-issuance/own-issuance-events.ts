import type { PlanOwner, StrayProblem, Tx } from '@certwright/core-schema';
import { AccountEvents, Mails } from '@certwright/delivery';
import { Injectable } from '@nestjs/common';

/** The object of an API that a certificate belongs to. */
export interface OwnObject {
  readonly accountId: string;
  readonly owner: PlanOwner;
  /** Of the order, or the CN of the certificate object; null: it was deleted. */
  readonly objectName: string | null;
  readonly accountDisabled: boolean;
}

export interface NotLogged extends OwnObject {
  readonly certificateId: string;
  readonly tbsSha256: Buffer;
  readonly sha256: Buffer;
  readonly spkiSha256: Buffer;
  readonly dnsNames: readonly string[];
  readonly notAfter: Date;
  readonly sctAt: Date;
}

export interface Stray extends OwnObject {
  readonly issuanceId: string;
  readonly problem: StrayProblem;
  readonly tbsSha256: Buffer;
  readonly certSha256: Buffer;
  readonly spkiSha256: Buffer;
  readonly dnsNames: readonly string[];
  readonly notAfter: Date;
  readonly discoveredAt: Date;
}

/** Columns of `OwnObject`, in a statement with the tables below. */
export const ownObjectColumns = `
  plan.account_id AS "accountId", plan.owner, coalesce(order_v3.name, cert_object_v2.cn) AS "objectName",
  account.disabled_at IS NOT NULL AS "accountDisabled"`;

export const ownObjectTables = `
  JOIN account ON account.id = plan.account_id
  LEFT JOIN order_v3 ON order_v3.plan_id = plan.id
  LEFT JOIN cert_object_v2 ON cert_object_v2.plan_id = plan.id`;

/** What accounts are notified of, in the transaction that records it. */
@Injectable()
export class OwnIssuanceEvents {
  constructor(
    private readonly events: AccountEvents,
    private readonly mails: Mails,
  ) {}

  async notLogged(tx: Tx, found: readonly NotLogged[]): Promise<void> {
    const reported = found.filter(({ accountDisabled }) => !accountDisabled);
    await this.events.enqueue(
      tx,
      reported.map((one) => ({
        accountId: one.accountId,
        event: 'monitoring.not_logged',
        subject: `not_logged:${one.tbsSha256.toString('hex')}`,
        body: JSON.stringify({
          problem: 'not_logged',
          ...objectOf(one),
          ...hashesOf({ ...one, certSha256: one.sha256 }),
          since: one.sctAt.toISOString(),
        }),
      })),
    );
    for (const { accountId, certificateId } of reported) {
      const facts = { problem: 'not-logged', certificateId } as const;
      await this.mails.enqueueToAccount(tx, { accountId, kind: 'monitoring-not-logged', facts });
    }
  }

  async strays(tx: Tx, found: readonly Stray[]): Promise<void> {
    const reported = found.filter(({ accountDisabled }) => !accountDisabled);
    await this.events.enqueue(
      tx,
      reported.map((one) => ({
        accountId: one.accountId,
        event: 'monitoring.not_logged',
        subject: `stray:${one.tbsSha256.toString('hex')}`,
        body: JSON.stringify({
          problem: one.problem.replace('-', '_'),
          ...objectOf(one),
          ...hashesOf(one),
          since: one.discoveredAt.toISOString(),
        }),
      })),
    );
    for (const { accountId, issuanceId, problem, tbsSha256 } of reported) {
      const facts = { problem, issuanceId, tbsSha256: tbsSha256.toString('hex') };
      await this.mails.enqueueToAccount(tx, { accountId, kind: 'monitoring-not-logged', facts });
    }
  }
}

function objectOf({ owner, objectName }: OwnObject): object {
  return owner === 'certs-v2' ? { cn: objectName } : { order: objectName };
}

function hashesOf({
  tbsSha256,
  certSha256,
  spkiSha256,
  dnsNames,
  notAfter,
}: Pick<Stray, 'tbsSha256' | 'certSha256' | 'spkiSha256' | 'dnsNames' | 'notAfter'>): object {
  return {
    tbs_sha256: tbsSha256.toString('hex'),
    cert_sha256: certSha256.toString('hex'),
    pubkey_sha256: spkiSha256.toString('hex'),
    dns_names: dnsNames,
    not_after: notAfter.toISOString(),
  };
}
