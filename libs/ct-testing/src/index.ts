export {
  anIssuance,
  type CheckedIssuance,
  CtDatabaseFixture,
  ctTestDatabase,
  factsAbout,
  keyOf,
  keysOf,
} from './ct-database';
