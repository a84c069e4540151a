import type { PendingRevocation, PendingRevocations } from '@certwright/persistence';
import type { CertificateAuthority } from '../certificate-authorities/certificate-authority';

export interface RevocationPorts {
  readonly pending: PendingRevocations;
  /** Whoever issues under that name in this deployment; null: nobody does. */
  readonly authorityOf: (name: string) => CertificateAuthority | null;
  /** Told after the CA confirmed it. */
  readonly revoked: (revocation: PendingRevocation) => void;
}

/**
 * Has the CA revoke what is revoked here. The row says whether there is anything to do, and the CA may be asked twice:
 * a crash between its answer and our note of it only asks once more.
 *
 * @throws whatever the CA throws: the sweep brings it back
 */
export async function revokeCertificate(
  { pending, authorityOf, revoked }: RevocationPorts,
  certificateId: string,
): Promise<void> {
  const revocation = await pending.find(certificateId);
  if (revocation === null) return;
  const { caReference, certificateAuthority, serialNumber, leaf, reason } = revocation;
  const authority = authorityOf(certificateAuthority);
  if (authority === null) throw new Error(`nobody issues as "${certificateAuthority}" here`);
  await authority.revoke(caReference, { serialNumber, leaf, reason });
  await pending.confirm(certificateId, reason);
  revoked(revocation);
}
