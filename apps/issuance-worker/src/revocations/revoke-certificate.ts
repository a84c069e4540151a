import type { PendingRevocation, PendingRevocations } from './pending-revocations';
import type { CertificateAuthority } from '../certificate-authorities/certificate-authority';
import { AuthorityDown } from '../certificate-authorities/health/authority-health';

export interface RevocationPorts {
  readonly pending: PendingRevocations;
  /** The issuing CA. */
  readonly issuers: Pick<CertificateAuthority, 'revoke'>;
  /** Called after the CA confirmed it. */
  readonly revoked: (revocation: PendingRevocation) => void;
}

/**
 * Revokes at the CA what is revoked here. The row shows whether there is anything to do, and the CA may be called
 * twice: after a crash between its response and our write.
 *
 * While the CA is down the revocation stays pending, which is not a failure.
 *
 * @throws any error of the CA: the sweep retries it
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
