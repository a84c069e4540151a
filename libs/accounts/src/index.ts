export { AccountsModule } from './accounts.module';
export { type Account, Accounts, type AccountSubject, AccountUsers } from './accounts';
export { ApiCredentials, type FreshApiKey } from './api-credentials';
export { ApiKeys } from './api-keys';
export {
  agentState,
  type ClusterAgent,
  ClusterAgents,
  isAgentLive,
  maxSilenceMinutes,
  offlineAdvice,
} from './cluster-agents';
export { type ClusterEnrolment, ClusterEnrolments, maxActiveEnrolments } from './cluster-enrolments';
export { type Cluster, Clusters } from './clusters';
export { hasInstallations, hasUnservedHost, type Installation, Installations } from './installations';
export { objectNameFault } from './object-name';
export { type SearchPlanTerms, SearchPlans } from './search-plans';
