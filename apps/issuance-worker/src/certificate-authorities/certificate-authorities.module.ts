import { OwnDeployment } from '@certwright/core-schema';
import { Module } from '@nestjs/common';
import { Config } from '../config';
import { AcmeAuthority } from './acme/acme-authority';
import { AcmeModule, isBuiltInAlone } from './acme/acme.module';
import { AuthoritiesInOrder } from './authorities-in-order';
import { BuiltInCa } from './built-in/built-in-ca';
import { CaIssuers } from './built-in/ca-issuers';
import { CaSignings } from './built-in/ca-signings';
import { KeyFiles } from './built-in/key-files';
import { RevocationLists } from './built-in/revocation-lists';
import { CertificateAuthorities } from './certificate-authorities';

/** The CAs of this deployment: the built-in one (`BuiltInCa`, or null) and ACME CAs. */
@Module({
  imports: [AcmeModule],
  providers: [
    CaIssuers,
    CaSignings,
    RevocationLists,
    {
      provide: BuiltInCa,
      // Keys are created only if the database belongs to this deployment.
      inject: [Config, CaIssuers, CaSignings, RevocationLists, OwnDeployment],
      useFactory: async (
        config: Config,
        issuers: CaIssuers,
        signings: CaSignings,
        lists: RevocationLists,
      ): Promise<BuiltInCa | null> => {
        if (config.CERTWRIGHT_MODE === 'production' && !config.BUILT_IN_CA) return null;
        const settings = { name: config.BUILT_IN_CA_NAME, publicationUrl: config.CA_PUBLICATION_URL };
        return await BuiltInCa.open(settings, new KeyFiles(config.BUILT_IN_CA_DIR), issuers, signings, lists);
      },
    },
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
  exports: [AcmeModule, AuthoritiesInOrder, BuiltInCa],
})
export class CertificateAuthoritiesModule {}
