import { Module } from '@nestjs/common';
import { PublicationsController } from './publications.controller';
import { PublicationsRepository } from './publications.repository';
import { RetrievePublication } from './retrieve-publication.use-case';

@Module({
  controllers: [PublicationsController],
  providers: [PublicationsRepository, RetrievePublication],
})
export class PublicationsModule {}
