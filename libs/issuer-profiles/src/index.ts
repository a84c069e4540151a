export { readCcadb } from './ccadb-records';
export { discloseCrls } from './disclosed-crls';
export { type IssuerView, issuerViews } from './issuer-profiles';
export { IssuerProfiles } from './keep-profiles';
export { knownOrganizationsAsOf } from './known-organizations';
