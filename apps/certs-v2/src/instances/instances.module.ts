import { Module } from '@nestjs/common';
import { InvoicesModule } from '../invoices/invoices.module';
import { ApprovalFactsRepository } from './approval-facts.repository';
import { ClosedInstances } from './closed-instances';
import { InstanceViews } from './instance-views';
import { InstancesRepository } from './instances.repository';
import { RetrieveInstance } from './retrieve-instance.use-case';

/** What the process opens for them before the application is there: see `open-waiting.ts`. */
@Module({
  imports: [InvoicesModule],
  providers: [ApprovalFactsRepository, ClosedInstances, InstancesRepository, InstanceViews, RetrieveInstance],
  exports: [InstanceViews, InstancesRepository, RetrieveInstance],
})
export class InstancesModule {}
