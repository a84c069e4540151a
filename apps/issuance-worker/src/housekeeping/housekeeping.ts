import { Delegations } from '@certwright/approvals';
import { IdempotencyRecords } from '@certwright/idempotency';
import { Certificates } from '@certwright/ordering';
import { Round } from '@certwright/service';
import { Inject, Injectable } from '@nestjs/common';
import { BuiltInCa } from '../certificate-authorities/built-in/built-in-ca';
import { UnusedCharges } from '../purchases/unused-charges';

/** Max delay until a revocation is on the published list. */
const revocationListRestMs = 5_000;

const expiredRestMs = 10_000;
const expiredBatch = 100;

/**
 * Retires names that are no longer needed: their targets respond with NXDOMAIN from then on. A full round may take
 * long.
 */
const delegationsRestMs = 60_000;
const delegationsBatch = 500;

/** Max delay of a refund for an unused charge. */
const unusedChargesRestMs = 10_000;
const unusedChargesBatch = 500;

const idempotencyRestMs = 10 * 60 * 1_000;

/** Jobs that are triggered by time alone. */
@Injectable()
export class Housekeeping {
  constructor(
    private readonly certificates: Certificates,
    private readonly delegations: Delegations,
    private readonly idempotencyRecords: IdempotencyRecords,
    private readonly charges: UnusedCharges,
    @Inject(BuiltInCa) private readonly builtInCa: Pick<BuiltInCa, 'renewRevocationLists'> | null,
  ) {}

  @Round('expired')
  async expired(): Promise<number> {
    const found = await this.certificates.reselectExpired(expiredBatch);
    return found < expiredBatch ? expiredRestMs : 0;
  }

  @Round('delegations')
  async retireDelegations(): Promise<number> {
    const looked = await this.delegations.retireUnused(delegationsBatch);
    return looked < delegationsBatch ? delegationsRestMs : 0;
  }

  @Round('unusedCharges')
  async unusedCharges(): Promise<number> {
    const looked = await this.charges.settle(unusedChargesBatch);
    return looked < unusedChargesBatch ? unusedChargesRestMs : 0;
  }

  @Round('idempotency')
  async forgetIdempotency(): Promise<number> {
    await this.idempotencyRecords.forgetOld();
    return idempotencyRestMs;
  }

  @Round('revocationLists')
  async renewRevocationLists(): Promise<number> {
    await this.builtInCa?.renewRevocationLists();
    return revocationListRestMs;
  }
}
