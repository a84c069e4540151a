import { Module } from '@nestjs/common';
import { AddKnownObject } from './add-known-object.use-case';
import { DeleteKnownObject } from './delete-known-object.use-case';
import { KnownCertsController } from './known-certs.controller';
import { KnownKeysController } from './known-keys.controller';
import { KnownObjects } from './known-objects.repository';
import { RetrieveKnownObjects } from './retrieve-known-objects.use-case';

@Module({
  controllers: [KnownKeysController, KnownCertsController],
  providers: [KnownObjects, AddKnownObject, RetrieveKnownObjects, DeleteKnownObject],
  exports: [AddKnownObject],
})
export class KnownModule {}
