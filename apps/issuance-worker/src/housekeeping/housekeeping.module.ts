import { ApprovalsModule } from '@certwright/approvals';
import { IdempotencyModule } from '@certwright/idempotency';
import { OrderingModule } from '@certwright/ordering';
import { Module } from '@nestjs/common';
import { CertificateAuthoritiesModule } from '../certificate-authorities/certificate-authorities.module';
import { UnusedCharges } from '../purchases/unused-charges';
import { Housekeeping } from './housekeeping';
import { MissingTbsDigests } from './missing-tbs-digests';

/** Periodic work over all plans. */
@Module({
  imports: [ApprovalsModule, CertificateAuthoritiesModule, IdempotencyModule, OrderingModule],
  providers: [Housekeeping, MissingTbsDigests, UnusedCharges],
})
export class HousekeepingModule {}
