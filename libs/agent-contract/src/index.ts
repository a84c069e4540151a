export { decodeBase64url, decodeFixed, encodeBase64url } from './base64url';
export { type ClusterKey, clusterKeyFromSeed, clusterKeySha256, newClusterKey } from './cluster-key';
export { ContractError, type ContractErrorCode } from './contract-error';
export { type HpkeMessage, hpkeOpen, hpkeSeal } from './hpke';
export {
  enrolmentTokenSha256,
  joinString,
  type JoinSecrets,
  newEnrolmentToken,
  parseJoinString,
} from './join-string';
export {
  agentId,
  ed25519PrivateKey,
  ed25519PublicKey,
  isAgentId,
  keyBytes,
  newIdentityKey,
  newSealingKey,
  rawPrivateKey,
  rawPublicKey,
  x25519PrivateKey,
  x25519PublicKey,
} from './keys';
export { limits } from './limits';
export { type AcceptedMembers, acceptMembers, type MembersMemory, noMembersMemory } from './members';
export {
  type AcceptedKeys,
  agentBasePath,
  agentPaths,
  type AgentTask,
  type CertificateMessage,
  type ClusterMessage,
  type CsrRequest,
  type CsrResponse,
  type CurrentCertificate,
  type EnrolRequest,
  type EnrolResponse,
  type ErrorResponse,
  type InstallationMessage,
  type InstallationState,
  installationStates,
  type KeysMessage,
  type KeyTypeMessage,
  type MakeKeyTask,
  type MemberMessage,
  type MembersResponse,
  type OrderMessage,
  type ReportRequest,
  type SealKeyTask,
  type ServedMessage,
  stateQuery,
  type StateResponse,
} from './messages';
export { orderFolder } from './order-folder';
export {
  readCertificate,
  readCsrAccepted,
  readEnrolled,
  readError,
  readMembers,
  readSealedKeys,
  readState,
} from './readers';
export {
  checkContent,
  checkSignature,
  isSignedBy,
  type ParsedSignature,
  parseSignature,
  type RequestHeaders,
  type SignatureFault,
  type SignatureHeaders,
  type SignatureVerdict,
  type SignedRequest,
  signRequest,
  verifyRequest,
} from './request-signature';
export { type KeyBinding, openKey, type SealedKey, sealKey } from './sealed-key';
export { type Member, signStatement, verifyStatement } from './statement';
export { parseStrictJson } from './strict-json';
