import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { IssuanceWakeUps } from '../issuance-wake-ups/issuance-wake-ups';
import { Mails } from '@certwright/delivery';
import {
  type Tx,
  Transactions,
  type ApprovalRequest,
  type ClosedLink,
  findingOf,
  type LinkFinding,
  type LinkJson,
  linkOfJson,
  linkOfToken,
  type LinkRow,
  linkStatement,
  useLink,
  type MailRequest,
  linkLifeMs,
  throttledUntil,
  throttleWindowMs,
  wantsMail,
} from '@certwright/core-schema';

/** Which mailbox is to approve which name of which plan. */
export interface Mailbox {
  readonly accountId: string;
  readonly planId: string;
  /** As in the terms; a wildcard is approved separately. */
  readonly dnsName: string;
  readonly address: string;
}

export interface AskedMailbox extends MailRequest {
  readonly approvalId: string;
  readonly planId: string;
  readonly dnsName: string;
  readonly address: string;
}

export type MailboxState =
  | { readonly kind: 'approved'; readonly at: Date }
  /** A mail is on its way, or has been sent; `undeliverable`: and could not be delivered. */
  | { readonly kind: 'requested'; readonly at: Date; readonly undeliverable: boolean }
  /** The address has reached its daily limit of mails. */
  | { readonly kind: 'throttled'; readonly until: Date };

/** Expired links are distinguished from unknown ones for this long. */
const rememberedMs = linkLifeMs;

const mailbox = `id AS "approvalId", plan_id AS "planId", dns_name AS "dnsName", address, asked_at AS "askedAt", asked_again AS "askedAgain",
  approved_at AS "approvedAt"`;

@Injectable()
export class EmailApprovals {
  constructor(
    private readonly database: DataSource,
    private readonly transactions: Transactions,
    private readonly mails: Mails,
    private readonly wakeUps: IssuanceWakeUps,
  ) {}

  /**
   * Whether the mailbox has approved the name. If not, ensures that a mail is ordered: when there is none, when the
   * last one is used up or was never sent, or when the caller requested another one. Repeating the call changes nothing.
   *
   * @param since earlier approvals have expired
   */
  async request(box: Mailbox, since: Date): Promise<MailboxState> {
    return await this.transactions.run(async (tx) => {
      const { asking, now } = await ensure(tx, box);
      if (asking.approvedAt !== null && asking.approvedAt.getTime() >= since.getTime())
        return { kind: 'approved', at: asking.approvedAt };
      if (asking.askedAt !== null && !wantsMail(asking, now)) {
        const state = await lastMailState(tx, box, asking.approvalId);
        // As often as a caller may request one: it may be canceled again.
        if (state !== 'canceled' || !wantsMail({ ...asking, askedAgain: true }, now))
          return { kind: 'requested', at: asking.askedAt, undeliverable: state === 'failed' };
      }
      const until = throttledUntil(await recentMails(tx, box.address));
      if (until !== null) return { kind: 'throttled', until };
      await tx.query(
        `UPDATE email_approval SET asked_at = clock_timestamp(), asked_again = false WHERE id = $1`,
        [asking.approvalId],
      );
      const { accountId, address: recipient } = box;
      const facts = { approvalId: asking.approvalId };
      await this.mails.enqueue(tx, { accountId, kind: 'approval-request', recipient, facts });
      return { kind: 'requested', at: now, undeliverable: false };
    });
  }

  /** Approval state of the mailboxes of a plan, including those that the order no longer names. */
  async ofPlan(planId: string): Promise<readonly AskedMailbox[]> {
    return await this.ofPlans([planId]);
  }

  /** The same of many plans in one statement. */
  async ofPlans(
    planIds: readonly string[],
    reader: Pick<Tx, 'query'> = this.database,
  ): Promise<readonly AskedMailbox[]> {
    return await reader.query(
      `SELECT ${mailbox} FROM email_approval WHERE plan_id = ANY ($1::bigint[]) ORDER BY id`,
      [planIds],
    );
  }

  /**
   * Stores the secret of a mail that is about to be sent; a mail that is sent again gets a new one.
   *
   * @param tokenSha256 SHA-256 over the token as in the link
   * @returns when the link ends
   */
  async issueToken(approvalId: string, tokenSha256: Uint8Array): Promise<Date> {
    const [row] = await this.database.query<[{ expires_at: Date }]>(
      `INSERT INTO email_approval_token (sha256, approval_id, expires_at)
       VALUES ($1, $2, clock_timestamp() + $3 * interval '1 millisecond') RETURNING expires_at`,
      [tokenSha256, approvalId, linkLifeMs],
    );
    return row.expires_at;
  }

  /** The subject of a link; changes nothing. @returns null when there is no such link */
  async lookUp(
    tokenSha256: Uint8Array,
    reader: Pick<Tx, 'query'> = this.database,
  ): Promise<LinkFinding | null> {
    if (await hasLinkFunctions(reader)) return await callLinkFunction(reader, 'approval_link', tokenSha256);
    const [row] = await reader.query<[LinkRow?]>(linkStatement, [tokenSha256]);
    return row === undefined ? null : findingOf(row);
  }

  /**
   * Approves by a link, once: the link and all others of the same approval are used up, and the plan's open issuance
   * becomes due now.
   *
   * @returns null when there is no such link
   */
  async approve(
    tokenSha256: Uint8Array,
  ): Promise<{ readonly state: 'approved'; readonly request: ApprovalRequest } | ClosedLink | null> {
    return await this.transactions.run(async (tx) => {
      if (await hasLinkFunctions(tx)) {
        const found = await callLinkFunction(tx, 'approve_link', tokenSha256);
        return found?.state === 'open' ? { state: 'approved', request: found.request } : found;
      }
      // A modification of the order locks the plan too, so its terms cannot change until this is done.
      await tx.query(`SELECT FROM plan WHERE id = (${linkOfToken}) FOR UPDATE`, [tokenSha256]);
      const finding = await this.lookUp(tokenSha256, tx);
      if (finding?.state !== 'open') return finding;
      const { approvalId, planId } = finding.request;
      await tx.query(useLink('$1'), [approvalId]);
      await this.wakeUps.wakePlan(tx, planId);
      return { state: 'approved', request: finding.request };
    });
  }

  async forgetExpired(): Promise<void> {
    await this.database.query(
      `DELETE FROM email_approval_token WHERE expires_at < clock_timestamp() - $1 * interval '1 millisecond'`,
      [rememberedMs],
    );
  }
}

/**
 * A database without the migrations of this release has none, and its processes connect as the owner of the tables.
 */
async function hasLinkFunctions(reader: Pick<Tx, 'query'>): Promise<boolean> {
  const [{ has }] = await reader.query<[{ has: boolean }]>(
    `SELECT to_regprocedure('approve_link(bytea)') IS NOT NULL AS has`,
  );
  return has;
}

async function callLinkFunction(
  reader: Pick<Tx, 'query'>,
  name: 'approval_link' | 'approve_link',
  tokenSha256: Uint8Array,
): Promise<LinkFinding | null> {
  const [{ link }] = await reader.query<[{ link: LinkJson | null }]>(`SELECT ${name}($1) AS link`, [
    tokenSha256,
  ]);
  return link === null ? null : findingOf(linkOfJson(link));
}

/** Locks the mailbox's row, and orders of mails to this address. */
async function ensure(
  tx: Tx,
  { accountId, planId, dnsName, address }: Mailbox,
): Promise<{ readonly asking: AskedMailbox; readonly now: Date }> {
  await tx.query(`SELECT pg_advisory_xact_lock(hashtextextended('mail to ' || $1, 0))`, [address]);
  const [row] = await tx.query<[AskedMailbox & { now: Date }]>(
    `INSERT INTO email_approval (account_id, plan_id, dns_name, address) VALUES ($1, $2, $3, $4)
     ON CONFLICT (plan_id, dns_name, address) DO UPDATE SET address = excluded.address
     RETURNING ${mailbox}, clock_timestamp() AS now`,
    [accountId, planId, dnsName, address],
  );
  const { now, ...asking } = row;
  return { asking, now };
}

async function recentMails(tx: Tx, address: string): Promise<readonly Date[]> {
  const rows = await tx.query<{ created_at: Date }[]>(
    `SELECT created_at FROM mail
     WHERE recipient = $1 AND kind = 'approval-request' AND state <> 'canceled'
       AND created_at > clock_timestamp() - $2 * interval '1 millisecond'
     ORDER BY created_at`,
    [address, throttleWindowMs],
  );
  return rows.map(({ created_at }) => created_at);
}

/**
 * A mail is canceled when the account is disabled, or the name needs no approval, at the time of sending. While the
 * account is disabled another one would be canceled too.
 *
 * @returns null: it counts as sent, or is pending
 */
async function lastMailState(
  tx: Tx,
  { accountId, address }: Mailbox,
  approvalId: string,
): Promise<'failed' | 'canceled' | null> {
  const [newest] = await tx.query<[{ state: string; isEnabled: boolean }?]>(
    `SELECT state, EXISTS (SELECT FROM account WHERE id = $3 AND disabled_at IS NULL) AS "isEnabled" FROM mail
     WHERE recipient = $1 AND kind = 'approval-request' AND facts ->> 'approvalId' = $2
     ORDER BY created_at DESC, id DESC LIMIT 1`,
    [address, approvalId, accountId],
  );
  if (newest?.state === 'failed') return 'failed';
  return newest?.state === 'canceled' && newest.isEnabled ? 'canceled' : null;
}
