import { Module } from '@nestjs/common';
import { AccessModule } from '../access/access.module';
import { IndexModule } from '../ct-index/index.module';
import { CertificatesController } from './certificates.controller';

@Module({
  imports: [AccessModule, IndexModule],
  controllers: [CertificatesController],
})
export class CertificatesModule {}
