import { Module } from '@nestjs/common';
import { GatewayConfig } from '../config';
import { CredentialKeys } from './credential-keys';

@Module({
  providers: [
    {
      provide: CredentialKeys,
      inject: [GatewayConfig],
      useFactory: ({ CREDENTIALS_KEY }: GatewayConfig) => CREDENTIALS_KEY,
    },
  ],
  exports: [CredentialKeys],
})
export class CredentialsModule {}
