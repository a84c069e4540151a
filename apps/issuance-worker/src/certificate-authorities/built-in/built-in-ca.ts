import type { Lease } from '@certwright/core-schema';
import { CaSignings, type RecordedSigning } from './ca-signings';
import { RevocationLists } from './revocation-lists';
import { readCsr } from '@certwright/pki';
import type {
  CertificateAuthority,
  CertificateRequest,
  Collected,
  RevocationOrder,
  Submitted,
} from '../certificate-authority';
import { randomSerial, wholeSeconds } from './certificate-values';
import type { Intermediate, Intermediates } from './intermediates';
import { assemble, leafTbs } from './profile';
import { revocationListTbs } from './revocation-list';
import { validityFrom } from './validity';

const dayMs = 24 * 60 * 60 * 1_000;

/** Subscriber CRLs: nextUpdate at most 10 days after thisUpdate (Baseline Requirements 7.2); a new one every day. */
const crlLifetimeMs = 7 * dayMs;
const crlLeadMs = 6 * dayMs;

/** How long a signature may take without a longer lease, ms: a token signs for one issuance after the other. */
const patienceMs = 4_000;

/** The members that this CA uses. */
export type LeafRequest = Pick<
  CertificateRequest,
  'lease' | 'dnsNames' | 'keyType' | 'csr' | 'lifetimeDays' | 'expiresBy' | 'subjectCommonName' | 'now'
> &
  Partial<Pick<CertificateRequest, 'approvals'>>;

/**
 * The CA built into the platform: the sandbox's untrusted test CA, or a private CA. It signs with intermediates; the key of
 * the root is offline.
 */
export class BuiltInCa implements CertificateAuthority {
  /** What `submit` has recorded under a lease; another process reads it. */
  private readonly recorded = new WeakMap<Lease, RecordedSigning>();

  constructor(
    private readonly intermediates: Intermediates,
    private readonly signings: CaSignings,
    private readonly lists: RevocationLists,
  ) {}

  /** Records what will be signed. The reference is the issuance, which has one entry in the ledger of signings. */
  async submit(request: LeafRequest): Promise<Extract<Submitted, { readonly kind: 'submitted' }>> {
    const reading = readCsr(request.csr);
    if (!reading.ok) throw new Error('a stored CSR cannot be read');
    const { name, issuing, notAfter: lastMoment } = await this.intermediates.current();
    const { notBefore, notAfter } = validityFrom(request, lastMoment);
    const serialNumber = randomSerial();
    const content = { ...request, serialNumber, spki: reading.csr.spkiDer, notBefore, notAfter };
    const { signing, isHeld } = await this.signings.record(
      request.lease,
      { serialNumber, tbs: leafTbs(content, issuing), issuer: name, notAfter },
      request.approvals,
    );
    this.recorded.set(request.lease, signing);
    return { kind: 'submitted', reference: request.lease.issuanceId, isStored: isHeld };
  }

  /** Signs the recorded TBSCertificate; repeated calls return the same certificate. */
  async collect(
    reference: string,
    { lease, hold }: Pick<CertificateRequest, 'lease'> & Partial<Pick<CertificateRequest, 'hold'>>,
  ): Promise<Extract<Collected, { readonly kind: 'issued' }>> {
    const { issuanceId } = lease;
    const recorded =
      reference === issuanceId
        ? (this.recorded.get(lease) ?? (await this.signings.recordedFor(reference)))
        : null;
    if (recorded === null)
      throw new Error(`no signing of issuance ${issuanceId} is recorded under ${reference}`);
    const { key, certificate, root } = await this.intermediates.byName(recorded.issuer);
    const leaf = assemble(recorded.tbs, await whileHeld(key.sign(recorded.tbs), hold));
    return { kind: 'issued', issued: { leaf, chain: [certificate], root } };
  }

  /** Writes to the ledger of signings; the next `renewRevocationLists` publishes a list with it. */
  async revoke(reference: string, { reason }: Pick<RevocationOrder, 'reason'>): Promise<void> {
    await this.signings.revoke(reference, reason);
  }

  /**
   * Publishes a new revocation list of each intermediate if due.
   *
   * @throws the first error, after the lists of the other intermediates: a key that is missing must not delay those
   */
  async renewRevocationLists(): Promise<void> {
    const errors: unknown[] = [];
    for (const intermediate of this.intermediates.all) {
      try {
        await this.renewRevocationList(intermediate);
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw errors[0];
  }

  private async renewRevocationList({ name, issuing, key }: Intermediate): Promise<void> {
    await this.lists.renew(name, crlLeadMs, async (draft) => {
      const nextUpdate = wholeSeconds(new Date(draft.now.getTime() + crlLifetimeMs));
      const tbs = revocationListTbs(draft, nextUpdate, issuing.certificate);
      return { der: assemble(tbs, await key.sign(tbs)), nextUpdate };
    });
  }
}

/** @throws LeaseLost */
async function whileHeld<T>(work: Promise<T>, hold: CertificateRequest['hold'] | undefined): Promise<T> {
  if (hold === undefined) return await work;
  const lost = Promise.withResolvers<never>();
  const timer = setInterval(() => void hold(2 * patienceMs).catch(lost.reject), patienceMs);
  try {
    return await Promise.race([work, lost.promise]);
  } finally {
    clearInterval(timer);
  }
}
