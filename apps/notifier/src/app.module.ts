import { CorePersistenceModule } from '@certwright/persistence';
import { type DynamicModule, Module } from '@nestjs/common';
import type { Config } from './config';

/** The notifier has no front: what it needs of the framework is the database. Everything else is put together in start.ts. */
@Module({})
export class AppModule {
  static of({ DATABASE_URL: url, DATABASE_POOL_SIZE: poolSize }: Config): DynamicModule {
    return {
      module: AppModule,
      imports: [
        CorePersistenceModule.forRoot({
          url,
          poolSize,
          applicationName: 'notifier',
          statementTimeoutMs: 10_000,
        }),
      ],
    };
  }
}
