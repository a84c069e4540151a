import type { ApprovalWay, IssuanceState, KeyType, ProductAuthority } from '@certwright/issuance';
import {
  approvalOf,
  issuanceErrorOf,
  type StoredApproval,
  type StoredIssuanceError,
} from '@certwright/outcome-messages';
import type { LeasedWork } from './leased-work';

/** Result of the lease statement. JSON holds values that need no exact type; instants and bytes are columns. */
export interface LeaseRow {
  readonly issuance: {
    readonly id: number;
    readonly plan_id: number;
    readonly account_id: number;
    readonly terms_id: number;
    readonly revision: number;
    readonly state: IssuanceState;
    readonly approvals: readonly StoredApproval[];
    readonly ca_reference: string | null;
    readonly failures: number;
    readonly last_error: StoredIssuanceError | null;
    readonly lease_token: number;
    readonly replaces_certificate_id: number | null;
  };
  readonly opened_at: Date;
  readonly due_at: Date;
  readonly expires_by: Date | null;
  readonly now: Date;
  readonly paused: boolean;
  readonly closed_at: Date | null;
  readonly dns_names: string[];
  readonly key_type: KeyType;
  readonly csr: Buffer;
  readonly spki_sha256: Buffer;
  readonly approver_emails: Record<string, string>;
  readonly approval_ways: Record<string, ApprovalWay> | null;
  readonly product: {
    readonly name: string;
    readonly available: boolean;
    readonly csr_names_every_dns_name: boolean;
    readonly max_dns_names: number;
    readonly email_approval: boolean;
    readonly lifetime_days: number;
    readonly subject_common_name: boolean;
    readonly certificate_authority: string;
    readonly authorities: readonly ProductAuthority[];
    readonly http_approval: boolean;
    readonly rsa_sizes: readonly number[];
    readonly curves: readonly string[];
    readonly term_days: number | null;
    readonly price_cents: number;
    readonly wildcard_price_cents: number;
    readonly currency: string;
  };
  readonly key_blocked: boolean;
  readonly valid_until: Date | null;
  readonly delegation_labels: Record<string, string> | null;
  readonly has_integrations: boolean;
}

export function leasedWork(row: LeaseRow): LeasedWork {
  const { issuance, product } = row;
  const id = String(issuance.id);
  return {
    lease: { issuanceId: id, token: String(issuance.lease_token) },
    issuance: {
      id,
      planId: String(issuance.plan_id),
      accountId: String(issuance.account_id),
      termsId: String(issuance.terms_id),
      revision: issuance.revision,
      state: issuance.state,
      approvals: issuance.approvals.map(approvalOf),
      caReference: issuance.ca_reference,
      failures: issuance.failures,
      lastError: issuance.last_error === null ? null : issuanceErrorOf(issuance.last_error),
      openedAt: row.opened_at,
      dueAt: row.due_at,
      expiresBy: row.expires_by,
    },
    terms: {
      id: String(issuance.terms_id),
      planId: String(issuance.plan_id),
      product: product.name,
      dnsNames: row.dns_names,
      keyType: row.key_type,
      csr: row.csr,
      spkiSha256: row.spki_sha256,
      approverEmails: row.approver_emails,
      approvalWays: row.approval_ways,
    },
    plan: { paused: row.paused, closedAt: row.closed_at },
    product: {
      name: product.name,
      available: product.available,
      csrNamesEveryDnsName: product.csr_names_every_dns_name,
      maxDnsNames: product.max_dns_names,
      emailApproval: product.email_approval,
      lifetimeDays: product.lifetime_days,
      subjectCommonName: product.subject_common_name,
      certificateAuthority: product.certificate_authority,
      authorities: product.authorities,
      httpApproval: product.http_approval,
      rsaSizes: product.rsa_sizes,
      curves: product.curves,
      termDays: product.term_days,
      priceCents: product.price_cents,
      wildcardPriceCents: product.wildcard_price_cents,
      currency: product.currency,
    },
    delegationLabels: new Map(Object.entries(row.delegation_labels ?? {})),
    hasHistory: issuance.lease_token > 1 || issuance.replaces_certificate_id !== null,
    hasIntegrations: row.has_integrations,
    keyBlocked: row.key_blocked,
    validUntil: row.valid_until,
    now: row.now,
  };
}
