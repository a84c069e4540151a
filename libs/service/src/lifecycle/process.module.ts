import {
  type DynamicModule,
  Global,
  type INestApplicationContext,
  Module,
  type OnApplicationShutdown,
  type OnModuleDestroy,
  type Provider,
  type Type,
} from '@nestjs/common';
import { DiscoveryModule, NestFactory } from '@nestjs/core';
import { nestLogger } from '../logging/logger';
import type { ProcessConfig } from './process-settings';
import { Rounds } from './rounds';
import { RunningProcess } from './run-process';

/** The settings of the process, and what it opened before the application: every module may inject them. */
@Global()
@Module({})
export class ProcessModule {
  static of(providers: readonly Provider[]): DynamicModule {
    const exports = providers.map((provider) =>
      typeof provider === 'function' ? provider : provider.provide,
    );
    return { module: ProcessModule, providers: [...providers], exports };
  }

  /**
   * The same, with what every process has: its settings, `RunningProcess`, `Drain` and `Rounds`.
   *
   * @param token under which the settings are injected
   */
  static forRoot(token: symbol, config: ProcessConfig, running: RunningProcess): DynamicModule {
    const opened = ProcessModule.of([
      { provide: token, useValue: config },
      { provide: RunningProcess, useValue: running },
      { provide: Drain, useValue: new Drain(config.DRAIN_TIME) },
      Rounds,
    ]);
    return { ...opened, imports: [DiscoveryModule] };
  }
}

/** The time that work under way has when the process stops. */
export class Drain implements OnModuleDestroy, OnApplicationShutdown {
  readonly #over = new AbortController();
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly drainMs: number) {}

  /** Aborts when the time is over. */
  get signal(): AbortSignal {
    return this.#over.signal;
  }

  onModuleDestroy(): void {
    this.#timer = setTimeout(() => this.#over.abort(), this.drainMs);
  }

  onApplicationShutdown(): void {
    clearTimeout(this.#timer);
  }
}

/**
 * Starts a process that has no HTTP API. When it stops, rounds end first. Then providers take no more work
 * (`onModuleDestroy`), wait for what is under way (`beforeApplicationShutdown`), and close connections
 * (`onApplicationShutdown`).
 *
 * @param app imports the feature modules of the process
 * @param token under which the settings are injected
 * @param afterErrorMs wait after a round that failed; default: 1,000
 */
export const startModules =
  <C extends ProcessConfig>(app: Type, token: symbol, afterErrorMs?: number) =>
  async (config: C, running: RunningProcess): Promise<void> => {
    const root = { module: app, imports: [ProcessModule.forRoot(token, config, running)] };
    const context = await NestFactory.createApplicationContext(root, {
      logger: nestLogger(running.log),
      abortOnError: false,
    });
    running.opened('application', async () => await context.close());
    startRounds(context, running, afterErrorMs);
  };

/** Once the application is initialized and its closing is registered with `running`. */
export function startRounds(
  context: INestApplicationContext,
  running: RunningProcess,
  afterErrorMs?: number,
): void {
  const rounds = context.get(Rounds);
  rounds.start(afterErrorMs);
  running.opened('rounds', async () => await rounds.stop());
}
