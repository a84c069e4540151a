import { RedisAccess, type RedisSettings, type RedisTenancy } from '@certwright/redis-client';
import { type DynamicModule, type FactoryProvider, Module, type Provider } from '@nestjs/common';

export interface RedisOptions extends Pick<RedisTenancy, 'findOwner'> {
  readonly settings: RedisSettings;
  readonly process: Pick<RedisTenancy, 'name' | 'log'> & {
    readonly readiness: { add(name: string, check: () => Promise<unknown>): void };
    opened(name: string, close: () => void): void;
  };
}

/** The copy is not ready while another deployment uses its prefix. */
export function openRedis({ settings, process, findOwner }: RedisOptions): RedisAccess {
  const { name, log, readiness, opened } = process;
  const redis = new RedisAccess(settings, { name, log, findOwner });
  readiness.add('redis prefix', async () => await Promise.resolve(redis.requireOwn()));
  opened('redis prefix', () => redis.close());
  return redis;
}

/** `RedisAccess` for all modules of a process. */
@Module({})
export class RedisModule {
  static forRootAsync({
    inject = [],
    useFactory,
  }: Pick<FactoryProvider<RedisOptions>, 'inject' | 'useFactory'>): DynamicModule {
    const open = async (...injected: unknown[]) => openRedis(await useFactory(...injected));
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
