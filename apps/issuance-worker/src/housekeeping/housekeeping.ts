import { Certificates } from '@certwright/ordering';
import { Delegations } from '@certwright/approvals';
import { IdempotencyRecords } from '@certwright/idempotency';
import { UnusedCharges } from '../purchases/unused-charges';
import type { INestApplicationContext } from '@nestjs/common';
import type { BuiltInCa } from '../certificate-authorities/built-in/built-in-ca';

/** How soon a revocation stands on the published list. */
const revocationListRestMs = 5_000;

const expiredRestMs = 10_000;
const expiredBatch = 100;

/** Names that nothing asks for any more: their targets answer NXDOMAIN from then on. A whole round takes a while, and may. */
const delegationsRestMs = 60_000;
const delegationsBatch = 500;

/** How soon money comes back that led to no certificate. */
const unusedChargesRestMs = 10_000;
const unusedChargesBatch = 500;

const idempotencyRestMs = 10 * 60 * 1_000;

/** What time brings about by itself; each round returns how long to rest, ms, and may run in any number of workers. */
export function housekeeping(
  context: INestApplicationContext,
  builtInCa: BuiltInCa | null,
): Readonly<Record<string, () => Promise<number>>> {
  const certificates = context.get(Certificates);
  const delegations = context.get(Delegations);
  const idempotencyRecords = context.get(IdempotencyRecords);
  const unusedCharges = context.get(UnusedCharges);
  return {
    expired: async () => {
      const found = await certificates.reselectExpired(expiredBatch);
      return found < expiredBatch ? expiredRestMs : 0;
    },
    delegations: async () => {
      const looked = await delegations.retireUnused(delegationsBatch);
      return looked < delegationsBatch ? delegationsRestMs : 0;
    },
    unusedCharges: async () => {
      const looked = await unusedCharges.settle(unusedChargesBatch);
      return looked < unusedChargesBatch ? unusedChargesRestMs : 0;
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
