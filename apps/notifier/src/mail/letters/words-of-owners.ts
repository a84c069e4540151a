import type { PlanOwner } from '@certwright/core-schema';

/** What each API calls the thing that a mail is about. */
export const objectOf = {
  'orders-v3': 'order',
  'certs-v2': 'certificate',
} as const satisfies Record<PlanOwner, string>;
