import { Module } from '@nestjs/common';
import { OrderingModule } from '@certwright/ordering';
import { CertObjectsModule } from '../cert-objects/cert-objects.module';
import { InstancesModule } from '../instances/instances.module';
import { InstallationTestController } from './installation-test.controller';
import { TestInstallation } from './test-installation.use-case';
import { TestLimit } from './test-limit';

@Module({
  imports: [OrderingModule, CertObjectsModule, InstancesModule],
  controllers: [InstallationTestController],
  providers: [TestInstallation, TestLimit],
})
export class InstallationTestModule {}
