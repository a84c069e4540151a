export { readSealingKeys, SealBroken, SealingKeys } from './sealing-keys';
