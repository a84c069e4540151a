export { AccountsModule } from './accounts.module';
export {
  type Account,
  Accounts,
  type AccountSubject,
  AccountUsers,
  Clusters,
  type MailSettings,
} from './accounts';
export { ApiCredentials, type FreshApiKey } from './api-credentials';
export { ApiKeys } from './api-keys';
export { type SearchPlanTerms, SearchPlans } from './search-plans';
