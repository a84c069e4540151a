import { createHash } from 'node:crypto';
import { encodeInteger, encodeObjectIdentifier, encodeTlv } from '@certwright/pki';
import { basicConstraints, constructed, keyUsage, keyUsages, sequence } from '../extensions';
import type { CaKey } from '../keys/ca-key';
import { oid } from '../oids';
import { assemble, caSubject } from '../profile';

/**
 * A CSR (RFC 2986) for an intermediate, DER. It requests what an issuing CA needs: CA without CAs below it, certificates
 * and revocation lists.
 */
export async function intermediateRequest(key: CaKey, subject: Uint8Array): Promise<Buffer> {
  const requested = [
    basicConstraints({ cA: true, pathLenConstraint: 0 }),
    keyUsage(keyUsages.keyCertSign | keyUsages.cRLSign),
  ];
  const attribute = sequence(
    encodeObjectIdentifier(oid.extensionRequest),
    encodeTlv(constructed.set, sequence(...requested)),
  );
  // [0]: the attributes of a CertificationRequestInfo.
  const info = sequence(encodeInteger(0n), subject, key.spki, encodeTlv(constructed.context(0), attribute));
  return assemble(info, await key.sign(info));
}

/** The subject (Name, DER) of a new intermediate. Of the same key it is the same, so that a request can be exported again. */
export function intermediateSubject(organization: string, spki: Buffer): Uint8Array {
  const installation = createHash('sha256').update(spki).digest('hex').slice(0, 8).toUpperCase();
  return caSubject(organization, `Intermediate ${installation}`);
}
