import type { PendingRevocation, PendingRevocations } from './pending-revocations';
import type { CertificateAuthority } from '../certificate-authorities/certificate-authority';
import { AuthorityDown } from '../certificate-authorities/health/authority-health';

export interface RevocationPorts {
  readonly pending: PendingRevocations;
  /** Whoever issued it. */
  readonly issuers: Pick<CertificateAuthority, 'revoke'>;
  /** Told after the CA confirmed it. */
  readonly revoked: (revocation: PendingRevocation) => void;
}

/**
 * Has the CA revoke what is revoked here. The row says whether there is anything to do, and the CA may be asked twice:
 * a crash between its answer and our note of it only asks once more.
 *
 * While the CA is down it stays pending, and is no failure.
 *
 * @throws whatever the CA throws: the sweep brings it back
 */
export async function revokeCertificate(
  { pending, issuers, revoked }: RevocationPorts,
  certificateId: string,
): Promise<void> {
  const revocation = await pending.find(certificateId);
  if (revocation === null) return;
  const { caReference, serialNumber, leaf, reason } = revocation;
  try {
    await issuers.revoke(caReference, { serialNumber, leaf, reason });
  } catch (error) {
    if (error instanceof AuthorityDown) return;
    throw error;
  }
  await pending.confirm(certificateId, reason);
  revoked(revocation);
}
