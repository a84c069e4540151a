export { type Base64Fault, type DecodedBase64, decodeBase64, encodeBase64 } from './base64';
export {
  type CertificatePlace,
  checkIssued,
  type IssuedCertificate,
  type IssuedExpectation,
  type IssuedMismatch,
  type IssuedMismatchCode,
} from './certificate/check-issued';
export { type Certificate, type CertificateReading, readCertificate } from './certificate/read-certificate';
export { type LogIdentity, logIdentity, withoutSctList } from './certificate/transparency-tbs';
export { type DecodedCsrField, decodeCsrField } from './csr/csr-field';
export { type CsrExpectations, type CsrRule, checkCsr, type KeyRecord } from './csr/check-csr';
export type { CsrFault } from './csr/csr-fault';
export { type Csr, csrLimits, type CsrReading, readCsr } from './csr/read-csr';
export {
  type DerElement,
  type DerLimits,
  defaultDerLimits,
  parseDer,
  type TagClass,
} from './der/der-element';
export { DerError } from './der/der-error';
export { tags as derTags } from './der/der-primitives';
export { DerReader, explicitContent } from './der/der-reader';
export {
  booleanValue,
  expectUniversal,
  integerValue,
  isContext,
  isUniversal,
  objectIdentifierValue,
  bitStringBytes,
  octetStringValue,
  textValue,
  timeValue,
} from './der/der-values';
export { encodeInteger, encodeObjectIdentifier, encodeTime, encodeTlv } from './der/der-writer';
export type { DistinguishedName } from './distinguished-name';
export type { SubjectAlternativeNames } from './extensions';
export { sha1Hex, sha256Hex } from './fingerprints';
export { curveNames } from './keys/curves';
export { checkKey, checkKeyType, type KeyFault, type KeyRules, rsaKeySizes } from './keys/check-key';
export { knownKeySource, PackedDigests } from './keys/known-keys/known-keys';
export {
  type KeyType,
  keyTypeOf,
  type PublicKey,
  readSubjectPublicKey,
  type SubjectPublicKey,
} from './keys/subject-public-key';
export { type DecodedPem, decodePem, encodePem, type PemBlock, type PemFault } from './pem';
export { type SignatureAlgorithm, verifySignature } from './signature';
export { temporaryCertificate, type TemporaryCertificateContent } from './temporary/temporary-certificate';
