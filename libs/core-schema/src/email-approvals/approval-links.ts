import { requiresMailbox, wantedApproval } from './wanted-approval';

/** The approval that the link of a mail requests. */
export interface ApprovalRequest {
  readonly approvalId: string;
  readonly planId: string;
  readonly accountName: string;
  /** The caller's own name of the order; any text. */
  readonly orderName: string;
  readonly dnsName: string;
  readonly address: string;
  readonly product: string;
  /** SHA-256 over the DER SubjectPublicKeyInfo of the key to be certified; null while there is no CSR. */
  readonly spkiSha256: Uint8Array | null;
}

/** `withdrawn`: the order is deleted, or no longer requires this address to approve this name. */
export interface ClosedLink {
  readonly state: 'used' | 'expired' | 'withdrawn';
}

export type LinkFinding = { readonly state: 'open'; readonly request: ApprovalRequest } | ClosedLink;

export interface LinkRow extends ApprovalRequest {
  readonly used: boolean;
  readonly expired: boolean;
  readonly wanted: boolean | null;
}

/** A link as the functions of link-functions.ts return it. */
export type LinkJson = Omit<LinkRow, 'approvalId' | 'planId' | 'spkiSha256'> & {
  readonly approvalId: number;
  readonly planId: number;
  /** `\\x` and hexadecimal. */
  readonly spkiSha256: string | null;
};

export function linkOfJson({ approvalId, planId, spkiSha256, ...same }: LinkJson): LinkRow {
  const spki = spkiSha256 === null ? null : Buffer.from(spkiSha256.slice('\\x'.length), 'hex');
  return { ...same, approvalId: String(approvalId), planId: String(planId), spkiSha256: spki };
}

export function findingOf({ used, expired, wanted, ...request }: LinkRow): LinkFinding {
  if (used) return { state: 'used' };
  if (expired) return { state: 'expired' };
  return wanted === true ? { state: 'open', request } : { state: 'withdrawn' };
}

/** The plan of the link whose token has the digest `$1`. */
export const linkOfToken = `
  SELECT plan_id FROM email_approval JOIN email_approval_token ON approval_id = email_approval.id WHERE sha256 = $1`;

/**
 * Approves, and uses up all links of the approval.
 *
 * @param approvalId its placeholder, `$1`
 */
export const useLink = (approvalId: string) => `
  WITH used AS (
    UPDATE email_approval_token SET used_at = clock_timestamp() WHERE approval_id = ${approvalId} AND used_at IS NULL)
  UPDATE email_approval SET approved_at = clock_timestamp(), asked_again = false WHERE id = ${approvalId}`;

/** The link whose token has the digest `$1`. It shows the request as of the mail, regardless of later changes. */
export const linkStatement = `
  SELECT approval.id AS "approvalId", approval.plan_id AS "planId", account.name AS "accountName",
    coalesce(order_v3.name, cert_object_v2.cn, approval.dns_name) AS "orderName",
    approval.dns_name AS "dnsName", approval.address, product.name AS product,
    coalesce(order_v3.spki_sha256, attempted.spki_sha256, terms.spki_sha256) AS "spkiSha256",
    link.used_at IS NOT NULL AS used,
    link.expires_at <= clock_timestamp() AS expired,
    plan.closed_at IS NULL AND account.disabled_at IS NULL AND product.email_approval AND ${wantedApproval} AS wanted
  FROM email_approval_token AS link
  JOIN email_approval AS approval ON approval.id = link.approval_id
  JOIN account ON account.id = approval.account_id
  JOIN plan ON plan.id = approval.plan_id
  LEFT JOIN terms ON terms.id = plan.terms_id
  LEFT JOIN issuance ON ${requiresMailbox('issuance')}
  LEFT JOIN terms AS attempted ON attempted.id = issuance.terms_id
  LEFT JOIN order_v3 ON order_v3.plan_id = plan.id
  LEFT JOIN cert_object_v2 ON cert_object_v2.plan_id = plan.id
  LEFT JOIN product ON product.name = coalesce(order_v3.product, attempted.product, terms.product)
  WHERE link.sha256 = $1`;
