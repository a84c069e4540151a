import { type DynamicModule, Module, type Provider } from '@nestjs/common';
import { admission } from './admission/parts';
import { certificates } from './certificates/parts';
import { SearchConfig } from './config';
import { firehose } from './firehose/parts';
import { issuances } from './issuances/parts';
import { status } from './status/parts';

const parts = [admission, firehose, certificates, issuances, status];

@Module({})
export class AppModule {
  /** @param surroundings what the process opened before the application: databases, who may search */
  static forRoot(config: SearchConfig, surroundings: readonly Provider[]): DynamicModule {
    return {
      module: AppModule,
      controllers: parts.flatMap(({ controllers }) => controllers),
      providers: [
        { provide: SearchConfig, useValue: config },
        ...surroundings,
        ...parts.flatMap(({ providers }) => providers),
      ],
    };
  }
}
