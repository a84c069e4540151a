import { createPublicKey, type KeyObject } from 'node:crypto';
import { type CaCertificates, CaIssuers } from './ca-issuers';
import { CaSignings } from './ca-signings';
import { RevocationLists } from './revocation-lists';
import { encodePem, readCsr } from '@certwright/pki';
import type { Certificate } from 'pkijs';
import type {
  CertificateAuthority,
  CertificateRequest,
  Collected,
  RevocationOrder,
  Submitted,
} from '../certificate-authority';
import { createCa, parseCertificate, randomSerial, signBytes, wholeSeconds } from './ca-creation';
import type { KeyFiles } from './key-files';
import { assemble, type Issuing, leafTbs } from './profile';
import { revocationListTbs } from './revocation-list';
import { validityFrom } from './validity';

const dayMs = 24 * 60 * 60 * 1_000;

/** Subscriber CRLs: nextUpdate at most 10 days after thisUpdate (Baseline Requirements 7.2); a new one every day. */
const crlLifetimeMs = 7 * dayMs;
const crlLeadMs = 6 * dayMs;

export interface BuiltInCaSettings {
  /** The organisation in the subjects of root and intermediate; used when they are created. */
  readonly name: string;
  /** http URL under which certificates and revocation lists are published, without a slash at the end. */
  readonly publicationUrl: string;
}

/** The members that this CA uses. */
export type LeafRequest = Pick<
  CertificateRequest,
  'lease' | 'dnsNames' | 'keyType' | 'csr' | 'lifetimeDays' | 'expiresBy' | 'subjectCommonName' | 'now'
>;

/** The CA built into the platform: the sandbox's untrusted test CA, or a private CA. */
export class BuiltInCa implements CertificateAuthority {
  private constructor(
    private readonly certificates: CaCertificates,
    private readonly issuing: Issuing,
    private readonly rootCertificate: Certificate,
    private readonly keys: { readonly root: KeyObject; readonly intermediate: KeyObject },
    private readonly signings: CaSignings,
    private readonly lists: RevocationLists,
  ) {}

  /** Opens the CA and creates it on the first start of a deployment. */
  static async open(
    settings: BuiltInCaSettings,
    keyFiles: KeyFiles,
    issuers: CaIssuers,
    signings: CaSignings,
    lists: RevocationLists,
  ): Promise<BuiltInCa> {
    const publication = { baseUrl: settings.publicationUrl };
    const certificates = await issuers.ensure(
      async () => await createCa(keyFiles, settings.name, publication, new Date()),
    );
    const keys = { root: await keyFiles.load('root'), intermediate: await keyFiles.load('intermediate') };
    const root = parseCertificate(certificates.root);
    const intermediate = parseCertificate(certificates.intermediate);
    assertKeyOf(keys.root, root, 'root');
    assertKeyOf(keys.intermediate, intermediate, 'intermediate');
    await keyFiles.publish('root.pem', encodePem('CERTIFICATE', certificates.root));
    const issuing = {
      certificate: intermediate,
      certificateUrl: `${settings.publicationUrl}/intermediate.cer`,
      crlUrl: `${settings.publicationUrl}/intermediate.crl`,
    };
    return new BuiltInCa(certificates, issuing, root, keys, signings, lists);
  }

  /** Records what will be signed. The reference is the issuance, which has one entry in the ledger of signings. */
  async submit(request: LeafRequest): Promise<Extract<Submitted, { readonly kind: 'submitted' }>> {
    const reading = readCsr(request.csr);
    if (!reading.ok) throw new Error('a stored CSR cannot be read');
    const { notBefore, notAfter } = validityFrom(request.now, request.lifetimeDays, request.expiresBy);
    const serialNumber = randomSerial();
    const content = { ...request, serialNumber, spki: reading.csr.spkiDer, notBefore, notAfter };
    await this.signings.record(request.lease, {
      serialNumber,
      tbs: leafTbs(content, this.issuing),
      notAfter,
    });
    return { kind: 'submitted', reference: request.lease.issuanceId };
  }

  /** Signs the recorded TBSCertificate; repeated calls return the same certificate. */
  async collect(
    reference: string,
    { lease: { issuanceId } }: Pick<CertificateRequest, 'lease'>,
  ): Promise<Extract<Collected, { readonly kind: 'issued' }>> {
    const tbs = reference === issuanceId ? await this.signings.tbsOf(reference) : null;
    if (tbs === null) throw new Error(`no signing of issuance ${issuanceId} is recorded under ${reference}`);
    const leaf = assemble(tbs, await signBytes(tbs, this.keys.intermediate));
    const { intermediate, root } = this.certificates;
    return { kind: 'issued', issued: { leaf, chain: [intermediate], root } };
  }

  /** Writes to the ledger of signings; the next `renewRevocationLists` publishes a list with it. */
  async revoke(reference: string, { reason }: Pick<RevocationOrder, 'reason'>): Promise<void> {
    await this.signings.revoke(reference, reason);
  }

  /** Publishes a new revocation list if due. */
  async renewRevocationLists(): Promise<void> {
    await this.renewList('intermediate', this.issuing.certificate, this.keys.intermediate);
    await this.renewList('root', this.rootCertificate, this.keys.root);
  }

  private async renewList(name: 'root' | 'intermediate', issuer: Certificate, key: KeyObject): Promise<void> {
    await this.lists.renew(name, crlLeadMs, async (draft) => {
      const nextUpdate = wholeSeconds(new Date(draft.now.getTime() + crlLifetimeMs));
      const tbs = revocationListTbs(draft, nextUpdate, issuer);
      return { der: assemble(tbs, await signBytes(tbs, key)), nextUpdate };
    });
  }
}

function assertKeyOf(key: KeyObject, certificate: Certificate, name: string): void {
  const spki = createPublicKey(key).export({ type: 'spki', format: 'der' });
  if (spki.equals(Buffer.from(certificate.subjectPublicKeyInfo.toSchema().toBER()))) return;
  throw new Error(
    `The file ${name}.key holds another key than the CA's ${name} certificate in the database.`,
  );
}
