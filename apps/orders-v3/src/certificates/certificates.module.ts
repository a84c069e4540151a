import { Module } from '@nestjs/common';
import { IdempotencyModule } from '@certwright/idempotency';
import { OrderingModule } from '@certwright/ordering';
import { OrdersModule } from '../orders/orders.module';
import { CertificatesController } from './certificates.controller';
import { RetrieveCertificates } from './retrieve-certificates.use-case';
import { RevokeCertificate } from './revoke-certificate.use-case';

@Module({
  imports: [IdempotencyModule, OrderingModule, OrdersModule],
  controllers: [CertificatesController],
  providers: [RetrieveCertificates, RevokeCertificate],
})
export class CertificatesModule {}
