import { DeliveryModule } from '@certwright/delivery';
import { Module } from '@nestjs/common';
import { CertificateAuthoritiesModule } from '../certificate-authorities/certificate-authorities.module';
import { PendingRevocations } from './pending-revocations';
import { RevocationsProcessor } from './revocations.processor';

/** Revocations at CAs. */
@Module({
  imports: [CertificateAuthoritiesModule, DeliveryModule],
  providers: [PendingRevocations, RevocationsProcessor],
})
export class RevocationsModule {}
