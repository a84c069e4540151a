export {
  type Credentials,
  type SealedContent,
  sealedContentAgeS,
  type SealedCredentials,
  sealingAlgorithms,
} from './credentials';
export {
  type CredentialKind,
  type CredentialMember,
  type GatewayDescription,
  type ProviderDescription,
} from './description';
export {
  type GatewayEndpoint,
  gatewayEndpoints,
  type GatewayError,
  type GatewayMessages,
  type Integrated,
  type IntegrationOwner,
  type MaybeResealed,
  type RecordType,
  recordTypes,
  type WantedRecord,
  type Zone,
} from './messages';
export { type ProviderName, providerNames } from './providers';
