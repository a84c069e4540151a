import { Module } from '@nestjs/common';
import { ApprovalsModule } from '@certwright/approvals';
import { IdempotencyModule } from '@certwright/idempotency';
import { OrderingModule } from '@certwright/ordering';
import { ProbeQuestions } from '@certwright/redis';
import { RedisAccess } from '@certwright/redis-client';
import { RunningProcess } from '@certwright/service';
import { InstancesModule } from '../instances/instances.module';
import { ApprovalHistory, ApprovalStatuses } from './approval-statuses';
import { CertObjectChanges } from './cert-object-changes';
import { CertObjectFactsReader } from './cert-object-facts';
import { CertObjectViews } from './cert-object-views';
import { CertObjectsController } from './cert-objects.controller';
import { CertObjectsRepository } from './cert-objects.repository';
import { CertProducts } from './cert-products';
import { WebRuleCheckLimit } from './web-rule-check-limit';
import { RetrieveCertObjects } from './retrieve-cert-objects.use-case';
import { SaveCertObject } from './save-cert-object.use-case';
import { WebRuleChecks } from './web-rule-checks';

@Module({
  imports: [ApprovalsModule, IdempotencyModule, OrderingModule, InstancesModule],
  controllers: [CertObjectsController],
  providers: [
    ApprovalHistory,
    ApprovalStatuses,
    CertObjectChanges,
    CertObjectFactsReader,
    CertObjectViews,
    CertObjectsRepository,
    CertProducts,
    WebRuleCheckLimit,
    {
      provide: ProbeQuestions,
      inject: [RedisAccess, RunningProcess],
      useFactory: (redis: RedisAccess, { log }: RunningProcess) =>
        new ProbeQuestions(redis, { name: 'certs-v2-probes', log }),
    },
    RetrieveCertObjects,
    SaveCertObject,
    WebRuleChecks,
  ],
  exports: [ApprovalStatuses, CertObjectViews, CertObjectsRepository, CertProducts, ProbeQuestions],
})
export class CertObjectsModule {}
