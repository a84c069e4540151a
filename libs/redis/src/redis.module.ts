import { RedisAccess, type RedisSettings } from '@certwright/redis-client';
import { type DynamicModule, type FactoryProvider, Module, type Provider } from '@nestjs/common';

export interface RedisOptions {
  readonly settings: RedisSettings;
}

/** `RedisAccess` for all modules of a process. */
@Module({})
export class RedisModule {
  static forRootAsync({
    inject = [],
    useFactory,
  }: Pick<FactoryProvider<RedisOptions>, 'inject' | 'useFactory'>): DynamicModule {
    const open = async (...injected: unknown[]) => new RedisAccess((await useFactory(...injected)).settings);
    return providing({ provide: RedisAccess, inject, useFactory: open });
  }

  static of(access: RedisAccess): DynamicModule {
    return providing({ provide: RedisAccess, useValue: access });
  }
}

const providing = (access: Provider<RedisAccess>): DynamicModule => ({
  module: RedisModule,
  global: true,
  providers: [access],
  exports: [RedisAccess],
});
