import { type DynamicModule, Global, Module, type Provider } from '@nestjs/common';

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
}
