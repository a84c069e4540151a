import { SealingKeys } from '@certwright/sealing';
import type { Setting } from '@certwright/service';

/** Base64 of 32 octets (RFC 4648, section 4), and no other text that decodes to as many. */
const key = /^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/;

/** Sealing keys as one secret: they come from one file, or one variable. */
export function sealingKeys({ meaning }: { readonly meaning: string }): Setting<SealingKeys> {
  return {
    meaning,
    unit: '32 octets each in base64, separated by commas; the first one seals, all of them open',
    secret: true,
    read: (text) => {
      const keys = text.split(',').map((each) => each.trim());
      if (!keys.every((each) => key.test(each)))
        return { fault: 'has an entry that is not the base64 of 32 octets' };
      return { value: new SealingKeys(keys.map((each) => Buffer.from(each, 'base64'))) };
    },
    show: () => '(not shown)',
  };
}
