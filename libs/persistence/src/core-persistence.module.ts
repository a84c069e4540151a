import { type DynamicModule, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ApiKeys } from './accounts/api-keys';
import { Clusters } from './accounts/clusters';
import { BlockedKeys } from './blocked-keys/blocked-keys';
import { CaIssuers } from './built-in-ca/ca-issuers';
import { CaSignings } from './built-in-ca/ca-signings';
import { RevocationLists } from './built-in-ca/revocation-lists';
import { Attachments } from './certificates/attachments';
import { Certificates } from './certificates/certificates';
import { type CoreDatabase, coreDataSourceOptions } from './core-data-source';
import { Delegations } from './delegations/delegations';
import { IdempotencyRecords } from './idempotency/idempotency-records';
import { IssuanceStatisticsReader } from './issuances/issuance-statistics';
import { Issuances } from './issuances/issuances';
import { LeasedIssuances } from './issuances/leased-issuances';
import { Outbox } from './outbox/outbox';
import { Plans } from './plans/plans';
import { Products } from './products/products';
import { Transactions } from './transactions/transactions';

const repositories = [
  ApiKeys,
  Attachments,
  BlockedKeys,
  CaIssuers,
  CaSignings,
  Certificates,
  Clusters,
  Delegations,
  IdempotencyRecords,
  IssuanceStatisticsReader,
  Issuances,
  LeasedIssuances,
  Outbox,
  Plans,
  Products,
  RevocationLists,
  Transactions,
];

/** While the database is away at start, a process tries again for half a minute before it gives up. */
const connecting = { retryAttempts: 15, retryDelay: 2_000 };

/** Everything that keeps rows of the `core` database. */
@Module({})
export class CorePersistenceModule {
  static forRoot(database: CoreDatabase): DynamicModule {
    return {
      module: CorePersistenceModule,
      global: true,
      imports: [TypeOrmModule.forRoot({ ...coreDataSourceOptions(database), ...connecting })],
      providers: repositories,
      exports: repositories,
    };
  }
}
