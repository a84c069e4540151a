import { isProblem } from '../acme-fault';
import type { Conversation } from '../conversation/conversation';
import type { Signer } from '../signing/jws';

/** `already`: it was revoked before, for any reason. */
export type RevocationOutcome = 'revoked' | 'already';

/** RFC 8555, section 7.6. @param reason CRLReason, RFC 5280, section 5.3.1 */
export async function revocation(
  conversation: Conversation,
  signer: Signer,
  certificate: Uint8Array,
  reason: number,
): Promise<RevocationOutcome> {
  const payload = { certificate: Buffer.from(certificate).toString('base64url'), reason };
  try {
    const operation = 'revokeCert';
    await conversation.post({ operation, signer, to: operation, payload, isRepeatable: true });
    return 'revoked';
  } catch (error) {
    if (isProblem(error, 'alreadyRevoked')) return 'already';
    throw error;
  }
}
