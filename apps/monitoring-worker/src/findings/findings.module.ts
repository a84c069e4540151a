import { DeliveryModule } from '@certwright/delivery';
import { Module } from '@nestjs/common';
import { CtDatabaseModule } from '../ct-database/ct-database.module';
import { FindingEvents } from './finding-events';
import { RecordFindings } from './record-findings';

@Module({
  imports: [CtDatabaseModule, DeliveryModule],
  providers: [FindingEvents, RecordFindings],
  exports: [RecordFindings],
})
export class FindingsModule {}
