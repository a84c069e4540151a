import type { ApprovalWay } from '@certwright/issuance';
import type { Tx } from '@certwright/core-schema';
import { knownKeySource } from '@certwright/pki';
import type { StoredCertObject } from '../cert-objects/cert-object';

/** The pending instance of an object. */
export interface Pending {
  readonly issuanceId: string;
  /** Its name in the API. */
  readonly instanceId: string;
  readonly termsId: string;
  /** A term was bought with it. */
  readonly paysTerm: boolean;
}

/** Inputs for deciding whether an instance of an object may be opened. */
export interface OpeningFacts {
  /** Of the object's present terms. */
  readonly product: string;
  readonly dnsNames: readonly string[];
  readonly approvalWays: Readonly<Record<string, ApprovalWay>> | null;
  readonly keyBlocked: boolean;
  /** A term was bought for this product, and is not over. */
  readonly isPaid: boolean;
  /** Null: no instance is pending. */
  readonly pending: Pending | null;
  /** Null: no instance is active. */
  readonly current: { readonly imported: boolean } | null;
}

interface Row extends Omit<OpeningFacts, 'pending' | 'current'> {
  readonly spkiSha256: string;
  readonly issuanceId: string | null;
  readonly instanceId: string;
  readonly pendingTermsId: string;
  readonly paysTerm: boolean;
  readonly currentImported: boolean | null;
}

/** The caller holds object and plan, so all of this stays as it is until the transaction ends. */
export async function openingFacts(tx: Tx, { termsId }: StoredCertObject): Promise<OpeningFacts> {
  const [row] = await tx.query<[Row?]>(statement, [termsId]);
  if (row === undefined) throw new Error(`terms ${termsId} are missing`);
  const { product, dnsNames, approvalWays, isPaid } = row;
  const { issuanceId, instanceId, pendingTermsId, paysTerm, currentImported } = row;
  return {
    product,
    dnsNames,
    approvalWays,
    // An object may be older than the list that ships with this release.
    keyBlocked: row.keyBlocked || knownKeySource(row.spkiSha256) !== undefined,
    isPaid,
    pending: issuanceId === null ? null : { issuanceId, instanceId, termsId: pendingTermsId, paysTerm },
    current: currentImported === null ? null : { imported: currentImported },
  };
}

const statement = `
  SELECT terms.product, terms.dns_names AS "dnsNames", terms.approval_ways AS "approvalWays",
    encode(terms.spki_sha256, 'hex') AS "spkiSha256",
    EXISTS (SELECT 1 FROM blocked_key WHERE blocked_key.spki_sha256 = terms.spki_sha256
      AND blocked_key.account_id IN (0, plan.account_id)) AS "keyBlocked",
    coalesce(plan.paid_through > now() AND plan.paid_product = terms.product, false) AS "isPaid",
    open.id AS "issuanceId", open.public_id AS "instanceId", open.terms_id AS "pendingTermsId",
    EXISTS (SELECT 1 FROM charge WHERE charge.issuance_id = open.id AND charge.refunded_at IS NULL
      AND charge.kind = 'term') AS "paysTerm",
    current.imported AS "currentImported"
  FROM terms JOIN plan ON plan.id = terms.plan_id
  LEFT JOIN issuance AS open ON open.plan_id = plan.id AND open.state = 'open'
  LEFT JOIN certificate AS current ON current.plan_id = plan.id AND current.is_current
    AND current.revoked_at IS NULL AND current.not_after >= now()
  WHERE terms.id = $1`;
