import { Module } from '@nestjs/common';
import { OrderingModule } from '@certwright/ordering';
import { CertObjectsModule } from '../cert-objects/cert-objects.module';
import { InstancesModule } from '../instances/instances.module';
import { InstallationTestController } from './installation-test.controller';
import { TestInstallation } from './test-installation.use-case';

/** `TestLimit` and the questions to the prober come from the process: see `start.ts`. */
@Module({
  imports: [OrderingModule, CertObjectsModule, InstancesModule],
  controllers: [InstallationTestController],
  providers: [TestInstallation],
})
export class InstallationTestModule {}
