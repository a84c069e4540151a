import { Module } from '@nestjs/common';
import { InvoicesModule } from '../invoices/invoices.module';
import { ApprovalFactsRepository } from './approval-facts.repository';
import { ClosedInstances } from './closed-instances';
import { InstanceViews } from './instance-views';
import { InstancesRepository } from './instances.repository';
import { RetrieveInstance } from './retrieve-instance.use-case';
import { EndWaitingRequests, pendingInstances } from './waiting-requests';

@Module({
  imports: [InvoicesModule],
  providers: [
    ApprovalFactsRepository,
    ClosedInstances,
    InstancesRepository,
    InstanceViews,
    pendingInstances,
    EndWaitingRequests,
    RetrieveInstance,
  ],
  exports: [ApprovalFactsRepository, InstanceViews, InstancesRepository, RetrieveInstance],
})
export class InstancesModule {}
