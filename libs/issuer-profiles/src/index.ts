export { readCcadb } from './ccadb-records';
export { discloseCrls, IssuerProfiles } from './keep-profiles';
export { type IssuerView, issuerViews } from './issuer-profiles';
export { knownOrganizationsAsOf } from './known-organizations';
