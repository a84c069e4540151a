import { Module } from '@nestjs/common';
import { CertificatesModule } from '../certificates/certificates.module';
import { CreateTest } from './create-test.use-case';
import { TestAlertsController } from './test-alerts.controller';

@Module({ imports: [CertificatesModule], controllers: [TestAlertsController], providers: [CreateTest] })
export class TestAlertsModule {}
