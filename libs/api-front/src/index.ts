export { BlockedKeysCheck } from './blocked-keys-check';
export { createFront, DisabledKeys, type Front, type FrontConfig, startFront } from './front';
