import { addToOutbox, type MailKind, type Tx } from '@certwright/core-schema';
import type { MonitoringMailFacts } from './monitoring-mail-facts';
import { sendMail } from '@certwright/jobs';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';

/** Parameters of a mail, by kind: ids only; everything else is read when it is sent. */
interface MailFacts extends MonitoringMailFacts {
  'approval-request': { readonly approvalId: string };
  'expiration-notice': { readonly certificateId: string; readonly thresholdDays: number };
  'webhook-disabled': { readonly endpointId: string };
  invoice: { readonly invoiceNumber: string };
  'renewal-unpaid': { readonly planId: string };
  /** A host does not present the current certificate of a plan, or two hosts could not install it. */
  'certificate-not-served': CertificateOfPlan;
  'rollout-stopped': CertificateOfPlan;
  'certificate-issued': { readonly certificateId: string };
  /** One of those that were revoked together. */
  'revocation-complete': { readonly certificateId: string };
}

interface CertificateOfPlan {
  readonly planId: string;
  /** Over its DER, in hexadecimal. */
  readonly certificateSha256: string;
}

type AccountMailKind = Exclude<MailKind, 'monitoring-endpoints-held'>;

/** A mail to its account. */
export type AccountMail = {
  [K in AccountMailKind]: {
    readonly accountId: string;
    readonly kind: K;
    readonly facts: MailFacts[K];
  };
}[AccountMailKind];

export type NewMail =
  | (AccountMail & { readonly recipient: string })
  | {
      /** To the operator. */
      readonly accountId: null;
      readonly kind: 'monitoring-endpoints-held';
      readonly recipient: string;
      readonly facts: MailFacts['monitoring-endpoints-held'];
    };

/** Mail address of an account: its contact address, or its first user's. A column of a statement over `account`. */
export const accountAddress = `coalesce(nullif(account.contact_email, ''), (
  SELECT email FROM account_user
  WHERE account_id = account.id AND account_user.disabled_at IS NULL ORDER BY account_user.id LIMIT 1))`;

/** Enqueues mails; `LeasedMails` writes and sends them. */
@Injectable()
export class Mails {
  constructor(private readonly database: DataSource) {}

  /** @returns its id */
  async enqueue(tx: Tx, { accountId, kind, recipient, facts }: NewMail): Promise<string> {
    const [row] = await tx.query<[{ id: string }]>(
      `INSERT INTO mail (account_id, kind, recipient, facts, state, due_at)
       VALUES ($1, $2, $3, $4, 'pending', clock_timestamp()) RETURNING id`,
      [accountId, kind, recipient, JSON.stringify(facts)],
    );
    await addToOutbox(tx, sendMail(row.id, 0));
    return row.id;
  }

  /**
   * To the account's address.
   *
   * @returns its id; null: the account has no address, or is disabled
   */
  async enqueueToAccount(tx: Tx, { accountId, kind, facts }: AccountMail): Promise<string | null> {
    const recipient = await this.addressOf(accountId, tx);
    // Kind and facts are a pair.
    return recipient === null
      ? null
      : await this.enqueue(tx, { accountId, kind, recipient, facts } as NewMail);
  }

  /** Null: there is no address. */
  async addressOf(accountId: string, reader: Pick<Tx, 'query'> = this.database): Promise<string | null> {
    const [row]: { address: string | null }[] = await reader.query(
      `SELECT ${accountAddress} AS address FROM account WHERE id = $1 AND disabled_at IS NULL`,
      [accountId],
    );
    return row?.address ?? null;
  }

  /** Deletes mails 30 days after they were sent or given up. @returns how many */
  async forgetOld(limit: number): Promise<number> {
    const [, forgotten] = await this.database.query<[unknown, number]>(
      `DELETE FROM mail WHERE id IN (
         SELECT id FROM mail WHERE state <> 'pending' AND finished_at < now() - interval '30 days' LIMIT $1)`,
      [limit],
    );
    return forgotten;
  }
}
