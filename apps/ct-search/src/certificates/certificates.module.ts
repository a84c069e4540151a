import { Module } from '@nestjs/common';
import { AdmissionModule } from '../admission/admission.module';
import { CertificatesController } from './certificates.controller';

@Module({
  imports: [AdmissionModule],
  controllers: [CertificatesController],
})
export class CertificatesModule {}
