export {
  anIssuance,
  type CheckedIssuance,
  CtDatabaseFixture,
  factsAbout,
  keyOf,
  keysOf,
} from './ct-database';
