import { Module } from '@nestjs/common';
import { CredentialsModule } from '../credentials/credentials.module';
import { ProvidersModule } from '../providers/providers.module';
import { DescriptionController } from './description.controller';

@Module({
  imports: [CredentialsModule, ProvidersModule],
  controllers: [DescriptionController],
})
export class DescriptionModule {}
