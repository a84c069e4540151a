import { createHash } from 'node:crypto';
import { derTags, encodeInteger, encodeObjectIdentifier, encodeTlv } from '@certwright/pki';
import type { RelativeDistinguishedNames } from 'pkijs';
import { basicConstraints, keyUsage, keyUsages } from '../extensions';
import type { CaKey } from '../keys/ca-key';
import { oid } from '../oids';
import { assemble, caSubject } from '../profile';

const constructed = 0x20;
const sequence = derTags.sequence | constructed;
const set = derTags.set | constructed;
/** [0], constructed: the attributes of a CertificationRequestInfo. */
const attributes = 0xa0;

/**
 * A CSR (RFC 2986) for an intermediate, DER. It requests what an issuing CA needs: CA without CAs below it, certificates
 * and revocation lists.
 */
export async function intermediateRequest(key: CaKey, subject: RelativeDistinguishedNames): Promise<Buffer> {
  const requested = [
    basicConstraints({ cA: true, pathLenConstraint: 0 }),
    keyUsage(keyUsages.keyCertSign | keyUsages.cRLSign),
  ].map((extension) => Buffer.from(extension.toSchema().toBER()));
  const attribute = encodeTlv(
    sequence,
    encodeObjectIdentifier(oid.extensionRequest),
    encodeTlv(set, encodeTlv(sequence, ...requested)),
  );
  const info = encodeTlv(
    sequence,
    encodeInteger(0n),
    Buffer.from(subject.toSchema().toBER()),
    key.spki,
    encodeTlv(attributes, attribute),
  );
  return assemble(info, await key.sign(info));
}

/** The subject of a new intermediate. Of the same key it is the same, so that a request can be exported again. */
export function intermediateSubject(organization: string, spki: Buffer): RelativeDistinguishedNames {
  const installation = createHash('sha256').update(spki).digest('hex').slice(0, 8).toUpperCase();
  return caSubject(organization, `${organization} Intermediate ${installation}`);
}
