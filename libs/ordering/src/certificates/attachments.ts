import {
  bestCertificate,
  type Certificate,
  type IssuanceError,
  type KeyType,
  type NameApproval,
  revocationReasons,
} from '@certwright/issuance';
import { revokeCertificate } from '@certwright/jobs';
import { sha256 } from '@certwright/pki';
import { LeaseLost } from '@certwright/postgres';
import { Injectable } from '@nestjs/common';
import type { Lease } from '@certwright/core-schema';
import { saveProgress } from '../issuances/leased-issuances';
import { mailIssued } from '@certwright/delivery';
import type { PlanOwner } from '@certwright/core-schema';
import {
  addToOutbox,
  isForeignKeyViolation,
  JointWork,
  together,
  type Tx,
  Transactions,
} from '@certwright/core-schema';
import { announceCurrent } from './announce-current';
import { moveCurrent, validCertificates } from './certificates';

/** A certificate that was checked against its terms and becomes the plan's. */
export interface Attachment {
  readonly planId: string;
  readonly accountId: string;
  /** Fresh and random; used unless the certificate has one already. */
  readonly certificateId: string;
  readonly dnsNames: readonly string[];
  readonly keyType: KeyType;
  readonly serialNumber: string;
  readonly notBefore: Date;
  readonly notAfter: Date;
  readonly sha256: Uint8Array;
  readonly spkiSha256: Uint8Array;
  readonly leaf: Uint8Array;
  /** SHA-256 over the DER TBSCertificate without poison and SCT list (RFC 6962, 3.2). */
  readonly tbsSha256: Uint8Array;
  readonly hasSctList: boolean;
  readonly chain: readonly Uint8Array[];
  readonly root: Uint8Array;
  readonly approvals: readonly NameApproval[];
  /** The key is blocked: the certificate is revoked from the start, and the issuance fails with this error. */
  readonly revokedFor?: IssuanceError | null;
  /** Writes of the CA's adapter in the same transaction, under the lease. Its only effects are through `tx`. */
  readonly also?: (tx: Tx) => Promise<void>;
  /** URL of the CA's renewal information (RFC 9773); null or omitted: none. */
  readonly renewalInfo?: {
    /** Of the table of CAs. */
    readonly authority: string;
    /** Section 4.1. */
    readonly ariId: string;
  } | null;
}

interface Attaching {
  readonly lease: Lease;
  readonly attachment: Attachment;
  readonly chainSha256: Buffer;
}

/** Name of the constraint that a certificate's chain is stored. */
const chainOfCertificate = 'FK_98a7c5e359eab96fa1a761168f2';

/** The plan was paused or closed: the transaction is rolled back. */
class PlanAtRest extends Error {}

interface PlanRow {
  readonly paused: boolean;
  readonly closed: boolean;
  readonly owner: PlanOwner;
}

@Injectable()
export class Attachments {
  /** Chains that this process has seen committed: few, and the same for every leaf of a CA. */
  private readonly knownChains = new Set<string>();

  private readonly attaching: JointWork<Attaching, void>;

  constructor(transactions: Transactions) {
    const inTransaction = async (tx: Tx, attaching: Attaching) => await this.attachIn(tx, attaching);
    const alone = async (attaching: Attaching) =>
      await transactions.run(async (tx) => await inTransaction(tx, attaching));
    this.attaching = new JointWork(transactions, { alone, inTransaction });
  }

  /**
   * One transaction: insert the certificate, move `current`, close the issuance. Attachments that wait share it.
   *
   * @returns false when the plan was paused or closed meanwhile: then no row was written
   * @throws LeaseLost
   */
  async attach(lease: Lease, attachment: Attachment): Promise<boolean> {
    const chainSha256 = sha256(Buffer.concat([...attachment.chain, attachment.root]));
    const chain = chainSha256.toString('hex');
    const isKnown = this.knownChains.has(chain);
    try {
      await this.attaching.run({ lease, attachment, chainSha256 });
    } catch (error) {
      if (error instanceof PlanAtRest) return false;
      if (!isKnown || !isForeignKeyViolation(error, chainOfCertificate)) throw error;
      // A fail-over lost the commit of the chain: it is stored again.
      this.knownChains.delete(chain);
      return await this.attach(lease, attachment);
    }
    this.knownChains.add(chain);
    return true;
  }

  /** Statements that need no results of each other are sent together; the server executes them in this order. */
  private async attachIn(tx: Tx, { lease, attachment, chainSha256 }: Attaching): Promise<void> {
    const { planId, accountId, certificateId, dnsNames, spkiSha256, approvals, revokedFor } = attachment;
    const isRevoked = !!revokedFor;
    // It matches the terms of its request: later changes have no certificate yet.
    const wanted = { dnsNames, spkiSha256 };
    const [plan, { candidates, hasCurrent, now }] = await together([
      lockPlan(tx, planId, isRevoked),
      validCertificates(tx, planId, wanted),
      attachment.also?.(tx),
      saveProgress(
        tx,
        lease,
        isRevoked
          ? { state: 'failed', lastError: revokedFor }
          : { state: 'issued', approvals, failures: 0, lastError: null },
        'release',
      ),
      this.storeChain(tx, chainSha256, attachment),
    ]);
    if (isRevoked) {
      await insert(tx, lease, attachment, chainSha256, false);
      await addToOutbox(tx, revokeCertificate(certificateId, revocationReasons.keyCompromise));
      return;
    }
    const certificate = asCertificate(attachment);
    const best = bestCertificate([...candidates, certificate], wanted, now);
    const becomesCurrent = best?.id === certificateId;
    await together([
      becomesCurrent && hasCurrent ? moveCurrent(tx, planId, null) : null,
      insert(tx, lease, attachment, chainSha256, becomesCurrent),
      watchRenewalInfo(tx, attachment),
      becomesCurrent ? announceCurrent(tx, planId, certificate) : null,
      plan.owner === 'certs-v2' ? mailIssued(tx, accountId, certificateId) : null,
    ]);
  }

  private async storeChain(tx: Tx, sha256: Buffer, { chain, root }: Attachment): Promise<void> {
    if (this.knownChains.has(sha256.toString('hex'))) return;
    await tx.query(
      `INSERT INTO certificate_chain (sha256, chain, root) VALUES ($1, $2::bytea[], $3) ON CONFLICT DO NOTHING`,
      [sha256, chain, root],
    );
  }
}

/** The order of locks is plan, then issuance, everywhere. What is revoked from the start is stored in any case. */
async function lockPlan(tx: Tx, planId: string, isRevoked: boolean): Promise<PlanRow> {
  const [row] = await tx.query<[PlanRow?]>(
    `SELECT paused, closed_at IS NOT NULL AS closed, owner FROM plan WHERE id = $1 FOR UPDATE`,
    [planId],
  );
  if (row === undefined) throw new Error(`plan ${planId} is missing`);
  if (!isRevoked && (row.paused || row.closed)) throw new PlanAtRest();
  return row;
}

const revokedFromStart = {
  columns: ', revoked_at, revocation_reason',
  values: `, clock_timestamp(), ${revocationReasons.keyCompromise}`,
};

/** @throws LeaseLost also when a fail-over lost what was stored before the CA was requested: it could not be revoked */
async function insert(
  tx: Tx,
  lease: Lease,
  attachment: Attachment,
  chainSha256: Buffer,
  isCurrent: boolean,
): Promise<void> {
  const revoked = attachment.revokedFor ? revokedFromStart : { columns: '', values: '' };
  const inserted = await tx.query<unknown[]>(
    `INSERT INTO certificate (id, account_id, plan_id, issuance_id, is_current, dns_names, key_type, serial_number,
       not_before, not_after, sha256, spki_sha256, leaf, chain_sha256, tbs_sha256, sct_at, ca_reference${revoked.columns})
     SELECT $1::bigint, $2::bigint, $3::bigint, $4::bigint, $5::boolean, $6::text[], $7, $8, $9::timestamptz, $10::timestamptz,
       $11::bytea, $12::bytea, $13::bytea, $14::bytea, $15::bytea, CASE WHEN $16::boolean THEN clock_timestamp() END, ca_reference${revoked.values}
     FROM issuance WHERE id = $4 AND ca_reference IS NOT NULL
     RETURNING 1`,
    [
      attachment.certificateId,
      attachment.accountId,
      attachment.planId,
      lease.issuanceId,
      isCurrent,
      attachment.dnsNames,
      attachment.keyType,
      attachment.serialNumber,
      attachment.notBefore,
      attachment.notAfter,
      attachment.sha256,
      attachment.spkiSha256,
      attachment.leaf,
      chainSha256,
      attachment.tbsSha256,
      attachment.hasSctList,
    ],
  );
  if (inserted.length === 0) throw new LeaseLost('issuance', lease.issuanceId, lease.token);
}

/** Due at once: a CA may offer a window from the first moment on. */
async function watchRenewalInfo(tx: Tx, { certificateId, renewalInfo }: Attachment): Promise<void> {
  if (!renewalInfo) return;
  await tx.query(
    `INSERT INTO renewal_info (certificate_id, authority, ari_id, due_at) VALUES ($1, $2, $3, clock_timestamp())`,
    [certificateId, renewalInfo.authority, renewalInfo.ariId],
  );
}

function asCertificate(attachment: Attachment): Certificate {
  const { certificateId: id, dnsNames, keyType, spkiSha256, notBefore, notAfter } = attachment;
  return { id, dnsNames, keyType, spkiSha256, notBefore, notAfter, revokedAt: null };
}
