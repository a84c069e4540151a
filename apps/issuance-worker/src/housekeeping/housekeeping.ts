import { Delegations } from '@certwright/approvals';
import { IdempotencyRecords } from '@certwright/idempotency';
import { Certificates } from '@certwright/ordering';
import { Round } from '@certwright/service';
import { Inject, Injectable } from '@nestjs/common';
import { BuiltInCa } from '../certificate-authorities/built-in/built-in-ca';
import { UnusedCharges } from '../purchases/unused-charges';

/** How soon a revocation is on the published list. */
const revocationListRestMs = 5_000;

const expiredRestMs = 10_000;
const expiredBatch = 100;

/** Names that nothing needs any more: their targets respond with NXDOMAIN from then on. A whole round takes a while, and may. */
const delegationsRestMs = 60_000;
const delegationsBatch = 500;

/** How soon money comes back that led to no certificate. */
const unusedChargesRestMs = 10_000;
const unusedChargesBatch = 500;

const idempotencyRestMs = 10 * 60 * 1_000;

/** What only the passing of time makes due. */
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
