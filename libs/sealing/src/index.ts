export { SealBroken, SealingKeys } from './sealing-keys';
