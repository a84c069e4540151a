import { DeliveryModule } from '@certwright/delivery';
import { Module } from '@nestjs/common';
import { KnownModule } from '../known/known.module';
import { CertificatesController } from './certificates.controller';
import { ChangeCertificate } from './change-certificate.use-case';
import { Findings } from './findings.repository';
import { Issuances } from './issuances';
import { RetrieveCertificates } from './retrieve-certificates.use-case';

@Module({
  imports: [DeliveryModule, KnownModule],
  controllers: [CertificatesController],
  providers: [Findings, Issuances, RetrieveCertificates, ChangeCertificate],
  exports: [Findings],
})
export class CertificatesModule {}
