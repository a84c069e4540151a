import { type QueueName, queues } from '@certwright/jobs';
import type { RedisAccess } from '@certwright/redis-client';
import {
  type BeforeApplicationShutdown,
  type DynamicModule,
  type FactoryProvider,
  Inject,
  Injectable,
  Module,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
  SetMetadata,
} from '@nestjs/common';
import { DiscoveryModule, DiscoveryService } from '@nestjs/core';
import { JobQueues } from './job-queues';
import { type Handlers, type RunningJobs, runJobs } from './job-runner';

export interface JobsOptions {
  readonly redis: RedisAccess;
  readonly log: {
    warn(members: object, message: string): void;
    error(members: object, message: string): void;
  };
  readonly readiness: { add(name: string, check: () => Promise<unknown>): void };
  /** Jobs that run side by side, where it is not what the table of queues says. */
  readonly concurrency?: Partial<Record<QueueName, number>>;
}

const jobsOptions = Symbol('JobsOptions');

type OptionsFactory = Pick<FactoryProvider<JobsOptions>, 'inject' | 'useFactory'>;

const optionsOf = (options: OptionsFactory): FactoryProvider<JobsOptions> => ({
  provide: jobsOptions,
  ...options,
});

/** `JobQueues` for all modules of a process. */
@Module({})
export class JobQueuesModule {
  static forRootAsync(options: OptionsFactory): DynamicModule {
    const queues = {
      provide: JobQueues,
      inject: [jobsOptions],
      useFactory: ({ redis, log, readiness }: JobsOptions) => {
        const opened = new JobQueues(redis, (error) => log.warn({ err: error }, 'redis'));
        readiness.add('redis', async () => await opened.checkWrites());
        return opened;
      },
    };
    return {
      module: JobQueuesModule,
      global: true,
      providers: [optionsOf(options), queues],
      exports: [JobQueues],
    };
  }
}

const processorKey = 'certwright:processor';

/**
 * A provider that runs the jobs of one queue: it has a method for each job, of the job's name. One that lacks a method
 * does not compile.
 */
export const Processor = <Q extends QueueName>(queue: Q) =>
  SetMetadata(processorKey, queue) as (target: new (...dependencies: never[]) => Handlers<Q>) => void;

/** Runs the jobs of each `@Processor` of the process from when all modules are initialized. */
@Injectable()
export class JobProcessors implements OnApplicationBootstrap, OnModuleDestroy, BeforeApplicationShutdown {
  readonly #running = new Map<QueueName, RunningJobs>();
  #closed: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly discovery: DiscoveryService,
    @Inject(jobsOptions) private readonly options: JobsOptions,
  ) {}

  onApplicationBootstrap(): void {
    for (const { instance } of this.discovery.getProviders()) {
      // What a factory made is found by its class, too.
      const { constructor } = (instance ?? {}) as object;
      const queue: unknown = Reflect.getMetadata(processorKey, constructor);
      if (queue !== undefined) this.#run(queue as QueueName, instance as Handlers<QueueName>);
    }
  }

  /** Takes no more jobs. */
  onModuleDestroy(): void {
    this.#closed = Promise.all([...this.#running.values()].map(async (running) => await running.close()));
  }

  /** Waits for those that run. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.#closed;
  }

  #run(queue: QueueName, handlers: Handlers<QueueName>): void {
    if (this.#running.has(queue)) throw new Error(`Queue "${queue}" has two processors.`);
    const { redis, log, concurrency } = this.options;
    const events = {
      failed: (job: string, error: Error) =>
        log.error({ job, err: error }, 'job failed; retried from its row'),
      error: (error: Error) => log.warn({ err: error }, 'redis'),
    };
    const atOnce = concurrency?.[queue] ?? queues[queue].concurrency;
    this.#running.set(queue, runJobs(redis, queue, handlers, events, atOnce));
  }
}

/** Runs what `@Processor` declares, anywhere in the process. */
@Module({})
export class JobProcessorsModule {
  static forRootAsync(options: OptionsFactory): DynamicModule {
    return {
      module: JobProcessorsModule,
      imports: [DiscoveryModule],
      providers: [optionsOf(options), JobProcessors],
    };
  }
}
