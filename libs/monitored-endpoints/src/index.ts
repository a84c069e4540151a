export { endpointEventBody, endpointJson, type EndpointRow, storedServed } from './endpoint-json';
export {
  EndpointAddressSchema,
  EndpointFindingSchema,
  MonitoredEndpointSchema,
  ServedCertificateSchema,
} from './endpoint-schema';
export { type FirstEndpoints, MonitoredEndpoints } from './monitored-endpoints';
export { MonitoredEndpointsModule } from './monitored-endpoints.module';
