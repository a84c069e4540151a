export {
  activateIntermediate,
  type ImportedIntermediate,
  importIntermediate,
  importRootList,
  requestAgain,
  requestIntermediate,
  retireIntermediate,
} from './ceremony';
export { CaRecords } from './ca-records';
export { createRoot, readRootList, type Root, signIntermediate, signRootList } from './root';
export { createSandboxCa, storeListUntilEnd } from './sandbox-ca';
