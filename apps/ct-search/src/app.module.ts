import { ProcessModule, RunningProcess } from '@certwright/service';
import { type DynamicModule, Module } from '@nestjs/common';
import { CertificatesModule } from './certificates/certificates.module';
import { SearchConfig } from './config';
import { FirehoseModule } from './firehose/firehose.module';
import { IssuancesModule } from './issuances/issuances.module';
import { StatusModule } from './status/status.module';

@Module({ imports: [IssuancesModule, FirehoseModule, CertificatesModule, StatusModule] })
export class AppModule {
  static forRoot(config: SearchConfig, running: RunningProcess): DynamicModule {
    const process = ProcessModule.of([
      { provide: SearchConfig, useValue: config },
      { provide: RunningProcess, useValue: running },
    ]);
    return { module: AppModule, imports: [process] };
  }
}
