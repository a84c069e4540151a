export { AccountsModule } from './accounts.module';
export { type Account, Accounts, type AccountSubject, AccountUsers, type MailSettings } from './accounts';
export { ApiCredentials, type FreshApiKey } from './api-credentials';
export { ApiKeys } from './api-keys';
export {
  agentState,
  type AgentState,
  type ClusterAgent,
  ClusterAgents,
  isAgentLive,
  maxSilenceMinutes,
  offlineAdvice,
} from './cluster-agents';
export {
  type ClusterEnrolment,
  ClusterEnrolments,
  type EnrolmentTerms,
  maxActiveEnrolments,
} from './cluster-enrolments';
export { type Cluster, type ClusterId, Clusters, type NewCluster } from './clusters';
export { hasInstallations, hasUnservedHost, type Installation, Installations } from './installations';
export { objectNameFault } from './object-name';
export { type SearchPlanTerms, SearchPlans } from './search-plans';
