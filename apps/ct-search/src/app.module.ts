import { ProcessModule } from '@certwright/service';
import { type DynamicModule, Module, type Provider } from '@nestjs/common';
import { AdmissionModule } from './admission/admission.module';
import { CertificatesModule } from './certificates/certificates.module';
import { FirehoseModule } from './firehose/firehose.module';
import { IssuancesModule } from './issuances/issuances.module';
import { StatusModule } from './status/status.module';
import { SearchConfig } from './config';

@Module({})
export class AppModule {
  /** @param opened what the process opened before the application: connections, limits, keys */
  static forRoot(config: SearchConfig, opened: readonly Provider[]): DynamicModule {
    return {
      module: AppModule,
      imports: [
        ProcessModule.of([{ provide: SearchConfig, useValue: config }, ...opened]),
        AdmissionModule,
        CertificatesModule,
        FirehoseModule,
        IssuancesModule,
        StatusModule,
      ],
    };
  }
}
