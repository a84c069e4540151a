import { type DerElement, encodeTlv, parseDer } from '@certwright/pki';
import { SubmissionFault } from './chain';

/** 2.5.29.35 */
const authorityKeyIdentifier = Buffer.from('0603551d23', 'hex');

/** RFC 6962, section 3.1: the extended key usage of a precertificate signing certificate. */
export const precertificateSigning = '1.3.6.1.4.1.11129.2.4.4';

/** In a TBSCertificate of version 3: version, serial number, signature, issuer (RFC 5280, section 4.1). */
const issuerPlace = 3;

/**
 * The TBSCertificate of the final certificate, for a precertificate that a precertificate signing certificate
 * has signed: issuer and authority key identifier are those of that certificate itself (RFC 6962, section 3.2).
 *
 * @param tbs without poison
 * @throws SubmissionFault
 */
export function finalTbs(tbs: Uint8Array, signingCertificate: Uint8Array): Buffer {
  const parts = childrenOf(tbs);
  const signing = childrenOf(childrenOf(signingCertificate)[0] ?? Buffer.alloc(0));
  const issuer = signing[issuerPlace];
  const identifier = extensionsOf(signing).find(isAuthorityKeyIdentifier);
  const extensions = extensionsOf(parts);
  if (issuer === undefined || extensions.some(isAuthorityKeyIdentifier) !== (identifier !== undefined))
    throw new SubmissionFault(
      'The precertificate and its signing certificate do not both have an authority key identifier.',
    );
  const replaced = extensions.map((each) => (isAuthorityKeyIdentifier(each) ? (identifier ?? each) : each));
  const rewritten = parts.map((part, at) => {
    if (at === issuerPlace) return issuer;
    return isExtensions(part) ? encodeTlv(0xa3, encodeTlv(0x30, ...replaced)) : part;
  });
  return Buffer.from(encodeTlv(0x30, ...rewritten));
}

function extensionsOf(tbsParts: readonly Uint8Array[]): readonly Uint8Array[] {
  const wrapper = tbsParts.find(isExtensions);
  const [list] = wrapper === undefined ? [] : childrenOf(wrapper);
  return list === undefined ? [] : childrenOf(list);
}

/** The [3]. */
const isExtensions = (element: Uint8Array): boolean => element[0] === 0xa3;

/** An extension begins with its identifier. */
function isAuthorityKeyIdentifier(extension: Uint8Array): boolean {
  const [identifier] = childrenOf(extension);
  return identifier !== undefined && authorityKeyIdentifier.equals(identifier);
}

function childrenOf(der: Uint8Array): readonly Uint8Array[] {
  let element: DerElement;
  try {
    element = parseDer(der);
  } catch (error) {
    throw new SubmissionFault(`The precertificate is not strict DER: ${(error as Error).message}.`);
  }
  return element.children.map(({ raw }) => raw);
}
