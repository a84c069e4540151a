import { type DynamicModule, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { type CoreDatabase, coreDataSourceOptions } from './core-data-source';
import { Outbox } from './outbox/outbox';
import { Transactions } from './transactions/transactions';

/** When the database is unavailable at start, a process retries for half a minute before it gives up. */
const connecting = { retryAttempts: 15, retryDelay: 2_000 };

/** The connection to the `core` database, its transactions and its outbox, for all modules of a process. */
@Module({})
export class CoreSchemaModule {
  static forRoot(database: CoreDatabase): DynamicModule {
    return {
      module: CoreSchemaModule,
      global: true,
      imports: [TypeOrmModule.forRoot({ ...coreDataSourceOptions(database), ...connecting })],
      providers: [Outbox, Transactions],
      exports: [Outbox, Transactions],
    };
  }
}
