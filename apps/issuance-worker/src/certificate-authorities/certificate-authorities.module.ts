import { Module } from '@nestjs/common';
import { Config } from '../config';
import { AcmeAuthority } from './acme/acme-authority';
import { AcmeModule, isBuiltInAlone } from './acme/acme.module';
import { AuthoritiesInOrder } from './authorities-in-order';
import { BuiltInCa } from './built-in/built-in-ca';
import { BuiltInCaModule } from './built-in/built-in-ca.module';
import { CertificateAuthorities } from './certificate-authorities';

/** The CAs of this deployment: the built-in one (`BuiltInCa`, or null) and ACME CAs. */
@Module({
  imports: [AcmeModule, BuiltInCaModule],
  providers: [
    {
      provide: AuthoritiesInOrder,
      inject: [Config, BuiltInCa, AcmeAuthority, CertificateAuthorities],
      useFactory: (
        config: Config,
        builtIn: BuiltInCa | null,
        acme: AcmeAuthority | null,
        stored: CertificateAuthorities,
      ) => new AuthoritiesInOrder({ builtIn, acme, stored, builtInAlone: isBuiltInAlone(config) }),
    },
  ],
  exports: [AcmeModule, AuthoritiesInOrder, BuiltInCaModule],
})
export class CertificateAuthoritiesModule {}
