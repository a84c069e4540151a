import { type Installation, Installations } from '@certwright/accounts';
import type { Outcome } from '@certwright/issuance';
import { issuanceErrorOf, type StoredIssuanceError } from '@certwright/outcome-messages';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { requiresMailbox, wantedApproval, type PlanOwner, type InvoiceLine } from '@certwright/core-schema';

/** How a mail refers to a plan: every owner has its own wording. */
export interface PlanSubject {
  readonly owner: PlanOwner;
  readonly accountName: string;
  /** The tenant's name of the order; for a certificate object its common name. */
  readonly objectName: string;
}

/** A request to approve a name by email. */
export interface ApprovalSubject extends PlanSubject {
  readonly approvalId: string;
  readonly dnsName: string;
  /** All names of the same certificate. */
  readonly dnsNames: readonly string[];
}

/** A certificate in use that expires soon. */
export interface ExpirationSubject extends PlanSubject {
  readonly dnsNames: readonly string[];
  readonly serialNumber: string;
  readonly notAfter: Date;
  readonly autoRenew: boolean;
  /** A replacement is paid already and is issued even without `autoRenew`. */
  readonly replacementPaid: boolean;
  readonly paused: boolean;
  /** When a renewal begins that is not due yet, and needs nothing from the owner; null: it should have begun. */
  readonly renewsAt: Date | null;
  /** Problem of the newest replacement attempt; null: none. */
  readonly problem: Outcome | null;
  /** A cluster whose agents are to make a key, and are offline; null: none. */
  readonly silentCluster: SilentCluster | null;
}

export interface SilentCluster {
  readonly name: string;
  readonly hasAgents: boolean;
  /** When one of them was last seen. */
  readonly lastSeenAt: Date | null;
}

/** An endpoint that the platform disabled. */
export interface DisabledSubject {
  readonly accountName: string;
  readonly url: string;
  readonly description: string;
  readonly reason: string;
}

/** A purchase. */
export interface InvoiceSubject {
  readonly number: string;
  readonly accountName: string;
  readonly issuedAt: Date;
  readonly lines: readonly InvoiceLine[];
  /** Hundredths of the currency. */
  readonly totalCents: number;
  /** ISO 4217. */
  readonly currency: string;
  /** In the buyer's wording. */
  readonly note: string | null;
}

/** A certificate that was issued. */
export interface IssuedSubject extends PlanSubject {
  readonly dnsNames: readonly string[];
  readonly serialNumber: string;
  readonly notAfter: Date;
}

/** Certificates whose revocation the CA has confirmed. */
export interface RevokedSubject extends PlanSubject {
  readonly serialNumbers: readonly string[];
}

/** A renewal that the account could not pay. */
export interface UnpaidSubject extends PlanSubject {
  /** End of the current certificate; null: there is none. */
  readonly notAfter: Date | null;
}

/** A current certificate that does not reach hosts of its order's cluster. */
export interface RolloutSubject extends PlanSubject {
  readonly cluster: string;
  readonly begunAt: Date;
  readonly notAfter: Date;
  /** Those that do not serve it, by host; at least one. */
  readonly installations: readonly Installation[];
}

/** Renewals that have begun, or cannot begin, are checked again after that time at the latest, seconds. */
const longestLookS = 3_600;

/** Installations that are read for a mail. */
const maxInstallations = 2_000;

/** Subjects of mails, as of the time of sending. Null: the mail is no longer needed. */
@Injectable()
export class MailSubjects {
  constructor(
    private readonly database: DataSource,
    private readonly installations: Installations,
  ) {}

  /** Null: it was approved meanwhile, or the order is gone or no longer requires it. */
  async approval(approvalId: string): Promise<ApprovalSubject | null> {
    return await this.one<ApprovalSubject>(
      `SELECT ${planSubject('approval.dns_name')}, approval.id AS "approvalId", approval.dns_name AS "dnsName",
         coalesce(order_v3.dns_names, attempted.dns_names, terms.dns_names) AS "dnsNames"
       FROM email_approval AS approval JOIN plan ON plan.id = approval.plan_id ${ownObjects}
       LEFT JOIN terms ON terms.id = plan.terms_id
       LEFT JOIN issuance ON ${requiresMailbox('issuance')}
       LEFT JOIN terms AS attempted ON attempted.id = issuance.terms_id
       WHERE approval.id = $1 AND (approval.approved_at IS NULL OR approval.approved_at < approval.asked_at)
         AND plan.closed_at IS NULL AND account.disabled_at IS NULL AND ${wantedApproval}`,
      approvalId,
    );
  }

  /** Null: it is replaced, revoked or expired, notices are turned off, the order is gone, or the account is disabled. */
  async expiration(certificateId: string): Promise<ExpirationSubject | null> {
    const row = await this.one<
      Omit<ExpirationSubject, 'problem' | 'silentCluster'> & {
        readonly planId: string;
        readonly lastError: StoredIssuanceError | null;
      }
    >(
      `SELECT ${planSubject('certificate.dns_names[1]')},
         plan.id AS "planId", certificate.dns_names AS "dnsNames", certificate.serial_number AS "serialNumber",
         certificate.not_after AS "notAfter", plan.auto_renew AS "autoRenew",
         plan.replacement_paid AS "replacementPaid", plan.paused,
         CASE WHEN plan.renew_at > clock_timestamp() + $2 * interval '1 second' AND plan.terms_id IS NOT NULL
           AND NOT EXISTS (SELECT FROM issuance WHERE issuance.plan_id = plan.id AND state = 'open')
           THEN plan.renew_at END AS "renewsAt",
         (SELECT last_error FROM issuance
          WHERE issuance.plan_id = plan.id ORDER BY issuance.id DESC LIMIT 1) AS "lastError"
       FROM certificate JOIN plan ON plan.id = certificate.plan_id ${ownObjects}
       WHERE certificate.id = $1 AND certificate.is_current AND certificate.revoked_at IS NULL
         AND certificate.not_after > clock_timestamp() AND NOT plan.muted AND plan.closed_at IS NULL
         AND account.disabled_at IS NULL`,
      certificateId,
      longestLookS,
    );
    if (row === null) return null;
    const { lastError, planId, ...subject } = row;
    const problem = lastError === null ? null : issuanceErrorOf(lastError).outcome;
    return { ...subject, problem, silentCluster: await this.silentCluster(planId) };
  }

  /** Agents are offline when none was seen for 15 minutes. */
  private async silentCluster(planId: string): Promise<SilentCluster | null> {
    const [{ exists }] = await this.database.query<[{ exists: boolean }]>(
      `SELECT to_regclass('key_request') IS NOT NULL AS exists`,
    );
    if (!exists) return null;
    return await this.one<SilentCluster>(
      `SELECT order_v3.cluster AS name, agents.count > 0 AS "hasAgents", agents.seen AS "lastSeenAt"
       FROM key_request JOIN order_v3 ON order_v3.plan_id = key_request.plan_id
       CROSS JOIN LATERAL (
         SELECT count(*) AS count, max(last_seen_at) AS seen FROM agent
         WHERE agent.account_id = order_v3.account_id AND agent.cluster = order_v3.cluster AND removed_at IS NULL) AS agents
       WHERE key_request.plan_id = $1 AND order_v3.cluster IS NOT NULL
         AND coalesce(agents.seen < now() - interval '15 minutes', true)`,
      planId,
    );
  }

  /** Null: it is deleted, or enabled again, or the account is disabled. */
  async disabledEndpoint(endpointId: string): Promise<DisabledSubject | null> {
    return await this.one<DisabledSubject>(
      `SELECT account.name AS "accountName", url, description, disabled_reason AS reason
       FROM webhook_endpoint AS endpoint JOIN account ON account.id = endpoint.account_id
       WHERE endpoint.id = $1 AND NOT enabled AND disabled_reason IS NOT NULL AND account.disabled_at IS NULL`,
      endpointId,
    );
  }

  /** Null: the purchase was refunded, or the account is disabled. */
  async invoice(number: string): Promise<InvoiceSubject | null> {
    return await this.one<InvoiceSubject>(
      `SELECT invoice.number, account.name AS "accountName", issued_at AS "issuedAt", lines,
         total_cents AS "totalCents", currency, note
       FROM invoice JOIN account ON account.id = invoice.account_id
       WHERE invoice.number = $1 AND refunded_at IS NULL AND account.disabled_at IS NULL`,
      number,
    );
  }

  /**
   * Null: an issuance has been opened since, so it was paid; or renewal is no longer requested.
   *
   * @param since time of the failed payment
   */
  async unpaidRenewal(planId: string, since: Date): Promise<UnpaidSubject | null> {
    return await this.one<UnpaidSubject>(
      `SELECT ${planSubject('terms.dns_names[1]')}, current.not_after AS "notAfter"
       FROM plan ${ownObjects}
       LEFT JOIN terms ON terms.id = plan.terms_id
       LEFT JOIN certificate AS current ON current.plan_id = plan.id AND current.is_current
         AND current.revoked_at IS NULL AND current.not_after > clock_timestamp()
       WHERE plan.id = $1 AND plan.closed_at IS NULL AND account.disabled_at IS NULL
         AND plan.auto_renew AND NOT plan.paused AND plan.terms_id IS NOT NULL
         AND NOT EXISTS (
           SELECT 1 FROM issuance WHERE issuance.plan_id = plan.id AND (state = 'open' OR opened_at > $2))`,
      planId,
      since,
    );
  }

  /** Null: it is revoked or expired by now, or the account is disabled. */
  async issued(certificateId: string): Promise<IssuedSubject | null> {
    return await this.one<IssuedSubject>(
      `SELECT ${planSubject('certificate.dns_names[1]')}, certificate.dns_names AS "dnsNames",
         certificate.serial_number AS "serialNumber", certificate.not_after AS "notAfter"
       FROM certificate JOIN plan ON plan.id = certificate.plan_id ${ownObjects}
       WHERE certificate.id = $1 AND certificate.revoked_at IS NULL AND certificate.not_after > clock_timestamp()
         AND plan.closed_at IS NULL AND account.disabled_at IS NULL`,
      certificateId,
    );
  }

  /** All that were revoked together with this one. Null: the account is disabled. */
  async revoked(certificateId: string): Promise<RevokedSubject | null> {
    return await this.one<RevokedSubject>(
      `SELECT ${planSubject('certificate.dns_names[1]')}, ARRAY(
         SELECT serial_number FROM certificate AS other
         WHERE other.plan_id = certificate.plan_id AND other.revoked_at = certificate.revoked_at
           AND other.ca_revoked_at IS NOT NULL
         ORDER BY other.created_at, other.id) AS "serialNumbers"
       FROM certificate JOIN plan ON plan.id = certificate.plan_id ${ownObjects}
       WHERE certificate.id = $1 AND certificate.ca_revoked_at IS NOT NULL AND account.disabled_at IS NULL`,
      certificateId,
    );
  }

  /**
   * Null: every host serves it by now; there is a newer certificate; the order left its cluster, or is gone.
   *
   * @param isStopped whether the roll-out must still be stopped
   */
  async rollout(
    planId: string,
    certificateSha256: string,
    { isStopped }: { readonly isStopped: boolean },
  ): Promise<RolloutSubject | null> {
    const rollout = await this.one<Omit<RolloutSubject, 'installations'>>(
      `SELECT ${planSubject('current.dns_names[1]')}, order_v3.cluster, rollout.begun_at AS "begunAt",
         current.not_after AS "notAfter"
       FROM rollout JOIN plan ON plan.id = rollout.plan_id ${ownObjects}
       JOIN certificate AS current ON current.plan_id = plan.id AND current.is_current
         AND current.sha256 = rollout.certificate_sha256
       WHERE rollout.plan_id = $1 AND rollout.certificate_sha256 = decode($2, 'hex')
         AND order_v3.cluster IS NOT NULL AND (NOT $3 OR rollout.stopped_at IS NOT NULL)
         AND current.revoked_at IS NULL AND current.not_after > clock_timestamp()
         AND plan.closed_at IS NULL AND account.disabled_at IS NULL`,
      planId,
      certificateSha256,
      isStopped,
    );
    if (rollout === null) return null;
    const installed = await this.installations.ofPlans([planId], maxInstallations);
    const installations = installed.filter(({ isServed, state }) => !isServed && state !== 'released');
    return installations.length === 0 ? null : { ...rollout, installations };
  }

  private async one<T>(statement: string, ...values: readonly unknown[]): Promise<T | null> {
    const [row]: T[] = await this.database.query(statement, [...values]);
    return row ?? null;
  }
}

/** @param nameless how to refer to a plan without an owner's name */
const planSubject = (nameless: string) =>
  `plan.owner, account.name AS "accountName", coalesce(order_v3.name, object_v2.cn, ${nameless}) AS "objectName"`;

const ownObjects = `
  JOIN account ON account.id = plan.account_id
  LEFT JOIN order_v3 ON order_v3.plan_id = plan.id
  LEFT JOIN cert_object_v2 AS object_v2 ON object_v2.plan_id = plan.id`;
