import { Module } from '@nestjs/common';
import { AccessModule } from '../access/access.module';
import { IndexModule } from '../ct-index/index.module';
import { IssuancesModule } from '../issuances/issuances.module';
import { FirehoseController } from './firehose.controller';

@Module({
  imports: [AccessModule, IndexModule, IssuancesModule],
  controllers: [FirehoseController],
})
export class FirehoseModule {}
