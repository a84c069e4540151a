export { decodeBase64 } from './base64';
export {
  type CertificatePlace,
  checkIssued,
  type IssuedMismatch,
  type IssuedMismatchCode,
} from './certificate/check-issued';
export { type Certificate, readCertificate } from './certificate/read-certificate';
export { logIdentity, withoutSctList } from './certificate/transparency-tbs';
export { decodeCsrField } from './csr/csr-field';
export { checkCsr } from './csr/check-csr';
export type { CsrFault } from './csr/csr-fault';
export { type Csr, readCsr } from './csr/read-csr';
export { type DerElement, parseDer } from './der/der-element';
export { tags as derTags } from './der/der-primitives';
export { encodeInteger, encodeObjectIdentifier, encodeTime, encodeTlv } from './der/der-writer';
export { sha1Hex, sha256, sha256Hex } from './fingerprints';
export { curveNames } from './keys/curves';
export { rsaKeySizes } from './keys/check-key';
export { knownKeySource, PackedDigests } from './keys/known-keys/known-keys';
export { type KeyType, readSubjectPublicKey } from './keys/subject-public-key';
export { decodePem, encodePem, type PemFault } from './pem';
export { type SignatureAlgorithm, verifySignature } from './signature';
export { temporaryCertificate } from './temporary/temporary-certificate';
