import { Certificates, IdempotencyRecords } from '@certwright/persistence';
import type { INestApplicationContext } from '@nestjs/common';
import type { BuiltInCa } from '../certificate-authorities/built-in/built-in-ca';

/** How soon a revocation stands on the published list. */
const revocationListRestMs = 5_000;

const expiredRestMs = 10_000;
const expiredBatch = 100;

const idempotencyRestMs = 10 * 60 * 1_000;

/** What time brings about by itself; each round returns how long to rest, ms, and may run in any number of workers. */
export function housekeeping(
  context: INestApplicationContext,
  builtInCa: BuiltInCa | null,
): Readonly<Record<string, () => Promise<number>>> {
  const certificates = context.get(Certificates);
  const idempotencyRecords = context.get(IdempotencyRecords);
  return {
    expired: async () => {
      const found = await certificates.reselectExpired(expiredBatch);
      return found < expiredBatch ? expiredRestMs : 0;
    },
    idempotency: async () => {
      await idempotencyRecords.forgetOld();
      return idempotencyRestMs;
    },
    ...(builtInCa === null
      ? {}
      : {
          revocationLists: async () => {
            await builtInCa.renewRevocationLists();
            return revocationListRestMs;
          },
        }),
  };
}
