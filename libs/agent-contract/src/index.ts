export { decodeFixed, encodeBase64url } from './base64url';
export { type ClusterKey, clusterKeyFromSeed, newClusterKey } from './cluster-key';
export { ContractError } from './contract-error';
export { assertSealingKey } from './hpke';
export {
  enrolmentTokenSha256,
  joinString,
  type JoinSecrets,
  newEnrolmentToken,
  parseJoinString,
} from './join-string';
export {
  agentId,
  ed25519PublicKey,
  isAgentId,
  keyBytes,
  newIdentityKey,
  newSealingKey,
  rawPrivateKey,
  rawPublicKey,
} from './keys';
export { limits } from './limits';
export { acceptMembers, type MembersMemory, noMembersMemory } from './members';
export {
  type AcceptedKeys,
  agentBasePath,
  agentPaths,
  type AgentTask,
  type CertificateMessage,
  type CsrRequest,
  type CsrResponse,
  type EnrolRequest,
  type EnrolResponse,
  type InstallationMessage,
  type InstallationState,
  installationStates,
  type KeysMessage,
  type KeyTypeMessage,
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
  parseSignature,
  type SignatureVerdict,
  signRequest,
  verifyRequest,
} from './request-signature';
export { openKey, type SealedKey, sealKey } from './sealed-key';
export { type Member, signStatement, verifyStatement } from './statement';
