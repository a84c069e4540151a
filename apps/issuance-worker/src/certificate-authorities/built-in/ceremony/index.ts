export {
  activateIntermediate,
  importIntermediate,
  importRootList,
  requestAgain,
  requestIntermediate,
  retireIntermediate,
} from './ceremony';
export { CaRecords } from './ca-records';
export { createRoot, type Root, signIntermediate, signRootList } from './root';
export { createSandboxCa, storeListUntilEnd } from './sandbox-ca';
