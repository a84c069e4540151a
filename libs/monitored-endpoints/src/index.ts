export { storedServed } from './endpoint-address';
export { endpointEventBody, endpointJson, type EndpointRow, MonitoredEndpointSchema } from './endpoint-json';
export { type FirstEndpoints, MonitoredEndpoints } from './monitored-endpoints';
export { MonitoredEndpointsModule } from './monitored-endpoints.module';
