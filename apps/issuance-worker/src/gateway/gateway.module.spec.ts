import { GatewayClient } from '@certwright/gateway-client';
import { settings } from '../config';
import { gatewayOf } from './gateway.module';

const table = settings.read({
  CERTWRIGHT_MODE: 'sandbox',
  DATABASE_URL: 'postgres://127.0.0.1/x',
  REDIS_URL: 'redis://127.0.0.1/0',
  DNS_RESOLVER: '127.0.0.1:53',
  APPROVAL_ZONE: 'approval.test',
  CA_PUBLICATION_URL: 'http://127.0.0.1/ca',
});

it('there is no gateway unless one is configured', () => {
  expect(gatewayOf(table)).toBeNull();
});

it('an incomplete configuration is rejected, and the message contains the fix', () => {
  const half = { ...table, GATEWAY_URL: 'https://gateway.test' };
  expect(() => gatewayOf(half)).toThrow(/GATEWAY_CA_FILE\) is missing, and GATEWAY_URL is set/);
});

it('a configured gateway is called', () => {
  const pem = { reveal: () => 'pem' } as unknown as NonNullable<typeof table.GATEWAY_CA>;
  const whole = { ...table, GATEWAY_CA: pem, GATEWAY_CERTIFICATE: pem, GATEWAY_KEY: pem };
  expect(gatewayOf({ ...whole, GATEWAY_URL: 'https://gateway.test' })).toBeInstanceOf(GatewayClient);
});
