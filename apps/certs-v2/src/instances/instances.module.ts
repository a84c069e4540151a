import { ListTurns } from '@certwright/service';
import { Module } from '@nestjs/common';
import { ApprovalFactsRepository } from './approval-facts.repository';
import { ClosedInstances } from './closed-instances';
import { InstanceViews } from './instance-views';
import { InstancesRepository } from './instances.repository';
import { RetrieveInstance } from './retrieve-instance.use-case';
import { EndWaitingRequests, pendingInstances } from './waiting-requests';

@Module({
  providers: [
    ApprovalFactsRepository,
    ClosedInstances,
    InstancesRepository,
    InstanceViews,
    ListTurns,
    pendingInstances,
    EndWaitingRequests,
    RetrieveInstance,
  ],
  exports: [InstanceViews, InstancesRepository, ListTurns, RetrieveInstance],
})
export class InstancesModule {}
