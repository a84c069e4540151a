export { type CheckedIssuance, factsAbout } from './checked-issuances';
export { CtDatabaseFixture, anIssuance, keyOf, keysOf } from './ct-database';
