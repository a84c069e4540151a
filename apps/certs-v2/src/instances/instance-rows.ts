import type { IssuanceState } from '@certwright/issuance';
import {
  approvalOf,
  issuanceErrorOf,
  type StoredApproval,
  type StoredIssuanceError,
} from '@certwright/outcome-messages';
import type { StoredSan } from '@certwright/core-schema';
import { invoiceNumberOf } from '../invoices/invoices.repository';
import type { Attempt, InstanceCertificate, StoredInstance } from './instance';

/** Which big columns are read. */
export interface InstanceNeeds {
  /** CSRs: those of pending instances (a temporary certificate is made from one), or all. */
  readonly csr: 'pending' | 'all';
  /** Chains and roots. */
  readonly chain: boolean;
}

/** As PostgreSQL returns it, see `withInvoices`. Members of the attempt are null if it was imported, those of the certificate if there is none. */
export interface InstanceRow
  extends
    Omit<StoredInstance, 'attempt' | 'certificate'>,
    Omit<Attempt, 'issuanceId' | 'state' | 'sans' | 'approvals' | 'lastError'>,
    Omit<InstanceCertificate, 'certificateId'> {
  readonly isActive: boolean;
  readonly issuanceId: string | null;
  readonly attemptState: IssuanceState;
  readonly ownerFacts: { readonly sans?: readonly StoredSan[] | null } | null;
  readonly approvals: readonly StoredApproval[];
  readonly lastError: StoredIssuanceError | null;
  readonly certificateId: string | null;
}

/** Without invoices, see `withInvoices`. */
export interface InstanceSources {
  /** SELECT … FROM issuances, with the certificates that came of them. */
  readonly attempts: string;
  /** SELECT … FROM certificates, with their issuances; imported ones have none. */
  readonly certificates: string;
}

const csrColumn = {
  pending: `CASE WHEN issuance.state = 'open' THEN terms.csr END`,
  all: 'terms.csr',
} as const satisfies Record<InstanceNeeds['csr'], string>;

/**
 * The same columns from both sides, since an issuance may have no certificate, and a certificate no issuance.
 *
 * @param more columns in front of them
 */
export function sources({ csr, chain }: InstanceNeeds, more?: string): InstanceSources {
  const columns = `
    SELECT ${more === undefined ? '' : `${more},`} coalesce(issuance.public_id, certificate.id) AS id,
      coalesce(issuance.plan_id, certificate.plan_id) AS "planId",
      coalesce(issuance.account_id, certificate.account_id) AS "accountId",
      coalesce(issuance.opened_at, certificate.created_at) AS "openedAt",
      coalesce(certificate.spki_sha256, terms.spki_sha256) AS "spkiSha256",
      coalesce(certificate.revoked_at IS NULL AND certificate.not_after >= now(), false) AS "isActive",
      issuance.id AS "issuanceId", issuance.state AS "attemptState", issuance.approvals,
      issuance.last_error AS "lastError", terms.product, terms.dns_names AS "dnsNames",
      terms.owner_facts AS "ownerFacts", terms.approval_ways AS "approvalWays", ${csrColumn[csr]} AS csr,
      certificate.id AS "certificateId", certificate.not_before AS "notBefore", certificate.not_after AS "notAfter",
      certificate.revoked_at AS "revokedAt", certificate.sha256, certificate.leaf,
      ${chain ? 'certificate_chain.chain, certificate_chain.root' : 'NULL::bytea[] AS chain, NULL::bytea AS root'}`;
  const withChain = chain
    ? 'LEFT JOIN certificate_chain ON certificate_chain.sha256 = certificate.chain_sha256'
    : '';
  return {
    attempts: `${columns} FROM issuance JOIN terms ON terms.id = issuance.terms_id
      LEFT JOIN certificate ON certificate.issuance_id = issuance.id ${withChain}`,
    certificates: `${columns} FROM certificate LEFT JOIN issuance ON issuance.id = certificate.issuance_id
      LEFT JOIN terms ON terms.id = issuance.terms_id ${withChain}`,
  };
}

/**
 * The columns with the invoice's number: it is looked up for each row, so after the rows to show are chosen.
 *
 * @param instances SELECT … from `sources`
 */
export const withInvoices = (instances: string): string => `
  SELECT instance.*, ${invoiceNumberOf('instance."issuanceId"')} AS "invoiceNumber" FROM (${instances}) AS instance`;

export function storedInstance(row: InstanceRow): StoredInstance {
  const { id, planId, accountId, openedAt, spkiSha256, issuanceId, certificateId } = row;
  return {
    id,
    planId,
    accountId,
    openedAt,
    spkiSha256,
    attempt:
      issuanceId === null
        ? null
        : {
            issuanceId,
            state: row.attemptState,
            product: row.product,
            dnsNames: row.dnsNames,
            sans: row.ownerFacts?.sans ?? null,
            approvalWays: row.approvalWays,
            approvals: row.approvals.map(approvalOf),
            lastError: row.lastError === null ? null : issuanceErrorOf(row.lastError),
            csr: row.csr,
            invoiceNumber: row.invoiceNumber,
          },
    certificate:
      certificateId === null
        ? null
        : {
            certificateId,
            notBefore: row.notBefore,
            notAfter: row.notAfter,
            revokedAt: row.revokedAt,
            sha256: row.sha256,
            leaf: row.leaf,
            chain: row.chain,
            root: row.root,
          },
  };
}
