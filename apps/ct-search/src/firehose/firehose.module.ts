import { Module } from '@nestjs/common';
import { AdmissionModule } from '../admission/admission.module';
import { IssuancesModule } from '../issuances/issuances.module';
import { FirehoseController } from './firehose.controller';

@Module({
  imports: [AdmissionModule, IssuancesModule],
  controllers: [FirehoseController],
})
export class FirehoseModule {}
