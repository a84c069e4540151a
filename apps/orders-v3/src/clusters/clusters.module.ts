import { AccountsModule } from '@certwright/accounts';
import { IdempotencyModule } from '@certwright/idempotency';
import { Module } from '@nestjs/common';
import { ClustersController } from './clusters.controller';
import { ManageAgents } from './manage-agents.use-case';
import { ManageClusters } from './manage-clusters.use-case';
import { ManageEnrolments } from './manage-enrolments.use-case';
import { MembersController } from './members.controller';

@Module({
  imports: [AccountsModule, IdempotencyModule],
  controllers: [ClustersController, MembersController],
  providers: [ManageClusters, ManageEnrolments, ManageAgents],
})
export class ClustersModule {}
