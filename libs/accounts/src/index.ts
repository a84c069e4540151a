export { CoreAccounts, type CoreAccountsOptions, CoreAway } from './core-accounts';
export { type SearchKey, type SearchPlan } from './search-key';
