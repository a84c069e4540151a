import { Module } from '@nestjs/common';
import { BlockedKeysCheck } from '@certwright/api-front';
import { IdempotencyModule } from '@certwright/idempotency';
import { OrderingModule } from '@certwright/ordering';
import { IssuanceNews } from '@certwright/redis';
import { RedisAccess } from '@certwright/redis-client';
import { RunningProcess } from '@certwright/service';
import { CertObjectsModule } from '../cert-objects/cert-objects.module';
import { InstancesModule } from '../instances/instances.module';
import { ImportInstance } from './import-instance.use-case';
import { ImportedCertificates } from './imported-certificates.repository';
import { InstanceActionsController } from './instance-actions.controller';
import { InstanceRevocation } from './instance-revocation';
import { InstancesController } from './instances.controller';
import { ListInstances } from './list-instances.use-case';
import { OpenInstance } from './open-instance.use-case';
import { Openings } from './openings';
import { ParseCrtController } from './parse-crt.controller';
import { RedoApproval } from './redo-approval.use-case';
import { RevokeInstances } from './revoke-instances.use-case';

@Module({
  imports: [IdempotencyModule, OrderingModule, CertObjectsModule, InstancesModule],
  controllers: [InstancesController, InstanceActionsController, ParseCrtController],
  providers: [
    BlockedKeysCheck,
    {
      provide: IssuanceNews,
      inject: [RedisAccess, RunningProcess],
      useFactory: (redis: RedisAccess, { log }: RunningProcess) =>
        new IssuanceNews(redis, { name: 'certs-v2-news', log }),
    },
    ImportedCertificates,
    ImportInstance,
    InstanceRevocation,
    ListInstances,
    OpenInstance,
    Openings,
    RedoApproval,
    RevokeInstances,
  ],
})
export class InstanceActionsModule {}
