import type { Parts } from '../parts';
import { InstallationTestController } from './installation-test.controller';
import { TemporaryCertificates } from './temporary-certificates';
import { TestInstallation } from './test-installation.use-case';

/** `TestLimit` and the questions to the prober come from the process: see `start.ts`. */
export const installationTest: Parts = {
  controllers: [InstallationTestController],
  providers: [TemporaryCertificates, TestInstallation],
};
