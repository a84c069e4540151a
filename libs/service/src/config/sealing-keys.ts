import { readSealingKeys, type SealingKeys } from '@certwright/sealing';
import type { Setting } from './setting';

/** Keys that seal secrets at rest, as one secret setting. */
export function sealingKeys({ meaning }: { readonly meaning: string }): Setting<SealingKeys> {
  return {
    meaning,
    unit: '32 bytes each in base64, separated by commas; the first one seals, all of them open',
    secret: true,
    read: (text) => {
      const keys = readSealingKeys(text);
      return keys === null ? { fault: 'has an entry that is not the base64 of 32 bytes' } : { value: keys };
    },
    show: () => '(not shown)',
  };
}
