export { AcmeAccount, type NewOrder } from './acme-account';
export { AcmeFault, type AcmeFaultKind, isProblem } from './acme-fault';
export { type AcmeProblem, problemText } from './acme-problem';
export { AcmeServer, type AcmeServerOptions, type FoundAccount, type NewAccount } from './acme-server';
export { type Directory } from './conversation/directory';
export { type AcmeExchange, type AcmeObserver } from './conversation/observer';
export { defaultRepeats, isPassing, type RepeatOptions, Repeats } from './conversation/repeats';
export { type FailedOrder } from './moves/failed-order';
export {
  type AcmeMove,
  type ChallengeToRespond,
  nextAcmeMove,
  type StoredProgress,
} from './moves/next-acme-move';
export { printable } from './printable';
export { type AcmeAccountState } from './resources/account';
export { type AcmeAuthorization, type AcmeChallenge, type ChallengeType } from './resources/authorization';
export { type CertificateChain, type DownloadedChain } from './resources/certificate-chain';
export { chooseChain, type PreferredRoot } from './resources/choose-chain';
export { type AcmeOrder, assertNames } from './resources/order';
export { type RenewalInfo, renewalIdOf, renewalInfoRetryAt } from './resources/renewal-info';
export { type RevocationOutcome } from './resources/revocation';
export { AccountKey, type JwsAlgorithm, type PublicJwk } from './signing/account-key';
export { type ExternalAccount, readHmacKey } from './signing/external-account';
export { dns01Value, keyAuthorization } from './signing/key-authorization';
