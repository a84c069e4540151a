import type { PendingRevocation, PendingRevocations } from './pending-revocations';
import type { CertificateAuthority } from '../certificate-authorities/certificate-authority';
import { AcmeFault, isPassing } from '../acme';
import { outcomeOfFault } from '../certificate-authorities/acme/order-outcomes';
import { AuthorityDown } from '../certificate-authorities/health/authority-health';
import type { Outcome } from '@certwright/issuance';

export interface RevocationPorts {
  readonly pending: PendingRevocations;
  /** The issuing CA. */
  readonly issuers: Pick<CertificateAuthority, 'revoke'>;
  /** Called after the CA confirmed it. */
  readonly revoked: (revocation: PendingRevocation) => void;
  /** Called after a failure was stored. */
  readonly failed: (revocation: PendingRevocation, failure: RevocationFailure) => void;
}

export interface RevocationFailure {
  /** The CA responded with a refusal, which a retry may not change; false: it was unavailable. */
  readonly refused: boolean;
  readonly outcome: Outcome;
  /** In a row, this one included. */
  readonly failures: number;
}

/**
 * Revokes at the CA what is revoked here. The row shows whether there is anything to do, and the CA may be called
 * twice: after a crash between its response and our write.
 *
 * While the CA is down the revocation stays pending, which is not a failure. After a failure the sweep retries it, at
 * growing intervals, until the certificate expires.
 *
 * @throws any error that is not of an ACME CA
 */
export async function revokeCertificate(
  { pending, issuers, revoked, failed }: RevocationPorts,
  certificateId: string,
): Promise<void> {
  const revocation = await pending.find(certificateId);
  if (revocation === null) return;
  const { caReference, serialNumber, leaf, reason } = revocation;
  try {
    await issuers.revoke(caReference, { serialNumber, leaf, reason });
  } catch (error) {
    if (error instanceof AuthorityDown) return;
    const failure = failureOf(error, revocation);
    const failures = await pending.failed(certificateId, failure);
    failed(revocation, { ...failure, failures });
    if (!(error instanceof AcmeFault)) throw error;
    return;
  }
  await pending.confirm(certificateId, reason);
  revoked(revocation);
}

function failureOf(
  error: unknown,
  { certificateAuthority: authority }: PendingRevocation,
): Omit<RevocationFailure, 'failures'> {
  if (!(error instanceof AcmeFault))
    return { refused: false, outcome: { code: 'ca_unreachable', authority, detail: '' } };
  const isUnknownAccount = error.problem?.type === 'accountDoesNotExist';
  const refused = error.kind === 'problem' && !isPassing(error) && !isUnknownAccount;
  return { refused, outcome: outcomeOfFault(authority, error) };
}
