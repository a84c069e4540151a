import { Module } from '@nestjs/common';
import { DeliveryModule } from '@certwright/delivery';
import { IdempotencyModule } from '@certwright/idempotency';
import { IssuanceStatisticsReader } from '../issuance/issuance-statistics';
import { LogSubmissions } from '../log-submissions/log-submissions';
import { ExpirationNotices } from '../notices/expiration-notices';
import { UnusedCharges } from '../purchases/unused-charges';
import { PendingRevocations } from '../revocations/pending-revocations';

const providers = [
  IssuanceStatisticsReader,
  LogSubmissions,
  ExpirationNotices,
  UnusedCharges,
  PendingRevocations,
];

/** Periodic work over all plans: notices, refunds, revocations, log submissions, statistics. */
@Module({ imports: [DeliveryModule, IdempotencyModule], providers, exports: providers })
export class HousekeepingModule {}
