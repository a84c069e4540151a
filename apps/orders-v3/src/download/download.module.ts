import { Module } from '@nestjs/common';
import { OrderingModule } from '@certwright/ordering';
import { DownloadController } from './download.controller';
import { DownloadCurrentCertificate } from './download-current-certificate.use-case';

@Module({
  imports: [OrderingModule],
  controllers: [DownloadController],
  providers: [DownloadCurrentCertificate],
})
export class DownloadModule {}
