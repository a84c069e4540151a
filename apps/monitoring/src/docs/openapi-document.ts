import { controllersDocument } from '@certwright/service';
import { DocumentBuilder, type OpenAPIObject } from '@nestjs/swagger';
import { CertificatesController } from '../certificates/certificates.controller';
import { EndpointsController } from '../endpoints/endpoints.controller';
import { KnownCertsController } from '../known/known-certs.controller';
import { KnownKeysController } from '../known/known-keys.controller';
import { MonitoredDomainsController } from '../monitored-domains/monitored-domains.controller';
import { SettingsController } from '../settings/settings.controller';
import { StatusController } from '../status/status.controller';
import { TestAlertsController } from '../test-alerts/test-alerts.controller';
import { errorExamples } from '../wire/documented-errors';
import { examples } from './examples';

const controllers = [
  MonitoredDomainsController,
  CertificatesController,
  KnownKeysController,
  KnownCertsController,
  EndpointsController,
  SettingsController,
  StatusController,
  TestAlertsController,
];

/** Needs neither database nor Redis. */
export async function openApiDocument(): Promise<OpenAPIObject> {
  const about = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('Certwright: monitoring')
    .setDescription(
      'States which domains are monitored, which keys and certificates are known, and which certificates were found.',
    )
    .setVersion('3')
    .addBearerAuth({ type: 'http', bearerFormat: 'API key', description: 'The API key' })
    .addBasicAuth({ type: 'http', description: 'The API key as user name, no password' })
    .build();
  return await controllersDocument({
    controllers,
    about,
    examples,
    errorExamples: errorExamples.components(),
  });
}
