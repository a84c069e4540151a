export { AccountsModule } from './accounts.module';
export { AccountUsers } from './account-users';
export { type Account, type AccountSubject, Accounts, type MailSettings } from './accounts';
export { ApiCredentials, type FreshApiKey } from './api-credentials';
export { ApiKeys } from './api-keys';
export { Clusters } from './clusters';
export { type SearchPlanTerms, SearchPlans } from './search-plans';
