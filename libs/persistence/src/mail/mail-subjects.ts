import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';

/** Somebody is asked to approve a name. */
export interface ApprovalSubject {
  readonly approvalId: string;
  readonly accountName: string;
  readonly dnsName: string;
  /** All names that the same certificate is to hold. */
  readonly dnsNames: readonly string[];
  readonly orderName: string;
}

/** A certificate that is in use comes to its end. */
export interface ExpirationSubject {
  readonly accountName: string;
  readonly orderName: string;
  readonly dnsNames: readonly string[];
  readonly serialNumber: string;
  readonly notAfter: Date;
  readonly autoRenew: boolean;
  readonly paused: boolean;
  /** What the newest attempt at a replacement ran into; null: nothing. */
  readonly problem: string | null;
}

/** An endpoint that the platform switched off. */
export interface DisabledSubject {
  readonly accountName: string;
  readonly url: string;
  readonly description: string;
  readonly reason: string;
}

/** What mails are about, as it stands when they are sent. Null: there is nothing to tell any more. */
@Injectable()
export class MailSubjects {
  constructor(private readonly database: DataSource) {}

  /** Null: it was approved since it was asked, or the order is gone or does not want it any more. */
  async approval(approvalId: string): Promise<ApprovalSubject | null> {
    return await this.one<ApprovalSubject>(
      `SELECT approval.id AS "approvalId", account.name AS "accountName", approval.dns_name AS "dnsName",
         coalesce(order_v3.dns_names, terms.dns_names) AS "dnsNames",
         coalesce(order_v3.name, approval.dns_name) AS "orderName"
       FROM email_approval AS approval
       JOIN account ON account.id = approval.account_id
       JOIN plan ON plan.id = approval.plan_id
       LEFT JOIN terms ON terms.id = plan.terms_id
       LEFT JOIN order_v3 ON order_v3.plan_id = plan.id
       WHERE approval.id = $1 AND (approval.approved_at IS NULL OR approval.approved_at < approval.asked_at)
         AND plan.closed_at IS NULL AND account.disabled_at IS NULL
         AND approval.dns_name = ANY (coalesce(order_v3.dns_names, terms.dns_names))
         AND coalesce(order_v3.approver_emails, terms.approver_emails) ->> approval.dns_name = approval.address`,
      approvalId,
    );
  }

  /** Null: it is replaced, revoked or expired, nobody wants notices, or the order is gone. */
  async expiration(certificateId: string): Promise<ExpirationSubject | null> {
    return await this.one<ExpirationSubject>(
      `SELECT account.name AS "accountName", coalesce(order_v3.name, certificate.dns_names[1]) AS "orderName",
         certificate.dns_names AS "dnsNames", certificate.serial_number AS "serialNumber",
         certificate.not_after AS "notAfter", plan.auto_renew AS "autoRenew", plan.paused,
         (SELECT last_error ->> 'message' FROM issuance
          WHERE issuance.plan_id = plan.id ORDER BY issuance.id DESC LIMIT 1) AS problem
       FROM certificate
       JOIN account ON account.id = certificate.account_id
       JOIN plan ON plan.id = certificate.plan_id
       LEFT JOIN order_v3 ON order_v3.plan_id = plan.id
       WHERE certificate.id = $1 AND certificate.is_current AND certificate.revoked_at IS NULL
         AND certificate.not_after > clock_timestamp() AND NOT plan.muted AND plan.closed_at IS NULL`,
      certificateId,
    );
  }

  /** Null: it is deleted, or switched on again. */
  async disabledEndpoint(endpointId: string): Promise<DisabledSubject | null> {
    return await this.one<DisabledSubject>(
      `SELECT account.name AS "accountName", url, description, disabled_reason AS reason
       FROM webhook_endpoint AS endpoint JOIN account ON account.id = endpoint.account_id
       WHERE endpoint.id = $1 AND NOT enabled AND disabled_reason IS NOT NULL`,
      endpointId,
    );
  }

  private async one<T>(statement: string, id: string): Promise<T | null> {
    const [row]: T[] = await this.database.query(statement, [id]);
    return row ?? null;
  }
}
