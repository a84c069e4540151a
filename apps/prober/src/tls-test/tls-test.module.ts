import { Module } from '@nestjs/common';
import { AddressGuardModule } from '../address-guard/address-guard.module';
import { InstallationTest } from './installation-test';
import { TlsTestController } from './tls-test.controller';

/** Which certificates the servers of some hosts present. */
@Module({ imports: [AddressGuardModule], controllers: [TlsTestController], providers: [InstallationTest] })
export class TlsTestModule {}
