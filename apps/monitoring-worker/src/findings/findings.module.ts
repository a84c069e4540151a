import { DeliveryModule } from '@certwright/delivery';
import { Module } from '@nestjs/common';
import { CtDatabaseModule } from '../ct-database/ct-database.module';
import { TasksModule } from '../tasks/tasks.module';
import { AlertWakeUp } from './alert-wake-up';
import { Classifying } from './classifying';
import { ExamineFindings } from './examine-findings';
import { FindingEvents } from './finding-events';
import { FindingMetrics } from './finding-metrics';
import { IssuerSignatures } from './issuer-signature';
import { RecordFindings } from './record-findings';

@Module({
  imports: [CtDatabaseModule, DeliveryModule, TasksModule],
  providers: [
    AlertWakeUp,
    Classifying,
    ExamineFindings,
    FindingEvents,
    FindingMetrics,
    IssuerSignatures,
    RecordFindings,
  ],
  exports: [AlertWakeUp, RecordFindings],
})
export class FindingsModule {}
